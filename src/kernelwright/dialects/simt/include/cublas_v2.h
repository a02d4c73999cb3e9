// cuBLAS for the emulation.
#pragma once
#include "cuda_runtime.h"
#define BLAS(name) cublas##name
#define BLAS_C(name) CUBLAS_##name
#include "libraries/blas.h"
#undef BLAS
#undef BLAS_C
