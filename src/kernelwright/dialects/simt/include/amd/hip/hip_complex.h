// What AMD's header of this name declares, under the emulation and where no ROCm is installed.
#pragma once
#include <hip/hip_runtime.h>
#define COMPLEX(name) hip##name
#define COMPLEX_MAKE(name) make_hip##name
#include "../../libraries/complex.h"
#undef COMPLEX
#undef COMPLEX_MAKE
