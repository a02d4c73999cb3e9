// cuBLAS for the emulation.
#pragma once
#define CUBLAS_API_H_
#define CUBLAS_V2_H_
#include "cuda_runtime.h"
#define BLAS(name) cublas##name
#define BLAS_C(name) CUBLAS_##name
#include "libraries/blas.h"
#undef BLAS
#undef BLAS_C
