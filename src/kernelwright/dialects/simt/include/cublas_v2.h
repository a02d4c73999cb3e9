// cuBLAS for the emulation.
#pragma once
#define CUBLAS_API_H_
#define CUBLAS_V2_H_
#include "cuda_runtime.h"
#include "library_types.h"
#include "simt/half.h"
#define BLAS_KIND cudaDataType
#define BLAS_KINDS(name) CUDA_##name
#define BLAS(name) cublas##name
#define BLAS_C(name) CUBLAS_##name
#include "libraries/blas.h"
#undef BLAS
#undef BLAS_C
#undef BLAS_KIND
#undef BLAS_KINDS
constexpr cublasStatus_t CUBLAS_STATUS_LICENSE_ERROR = static_cast<cublasStatus_t>(16);
constexpr cublasGemmAlgo_t CUBLAS_GEMM_DFALT = CUBLAS_GEMM_DEFAULT, CUBLAS_GEMM_DEFAULT_TENSOR_OP = CUBLAS_GEMM_DEFAULT;
inline const char* cublasGetStatusString(cublasStatus_t status) { return status ? "failed" : "success"; }
