// A stand-in for AMD's header, under the emulation and for compile checks where no ROCm is installed.
#pragma once
#include <hip/hip_runtime.h>
#define BLAS(name) hipblas##name
#define BLAS_C(name) HIPBLAS_##name
#include "../../libraries/blas.h"
#undef BLAS
#undef BLAS_C
