#pragma once
#define API(name) cuda##name
#include "api.h"
#undef API
int cudaThreadSynchronize(void);
