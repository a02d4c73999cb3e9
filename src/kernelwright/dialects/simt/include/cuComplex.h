// cuComplex.h for the emulation.
#pragma once
#include "cuda_runtime.h"
#define COMPLEX(name) cu##name
#define COMPLEX_MAKE(name) make_cu##name
#include "libraries/complex.h"
#undef COMPLEX
#undef COMPLEX_MAKE
