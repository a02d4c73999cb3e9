#pragma once
#define API(name) hip##name
#include "../api.h"
#undef API
