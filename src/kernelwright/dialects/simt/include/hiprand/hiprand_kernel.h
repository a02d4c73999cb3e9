#pragma once
#include "hiprand.h"
