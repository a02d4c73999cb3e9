// For compile checks where no ROCm is installed: a stand-in for what AMD's header declares.
#pragma once
#include <hip/hip_runtime.h>
#define BLAS(name) hipblas##name
#define BLAS_C(name) HIPBLAS_##name
#include "../../libraries/blas.h"
#undef BLAS
#undef BLAS_C
