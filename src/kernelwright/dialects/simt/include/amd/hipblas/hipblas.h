// A stand-in for AMD's header, under the emulation and for compile checks where no ROCm is installed.
// The emulation has what libraries/blas.h defines; the rest is declared.
// Source of the declarations: hipBLAS's API reference, ROCm 7.0 (complex numbers are HIP's).
#pragma once
#define HIPBLAS_H
#include <hip/hip_complex.h>
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>
#include <hip/library_types.h>
#define BLAS_KIND hipDataType
#define BLAS_KINDS(name) HIP_##name
#define BLAS(name) hipblas##name
#define BLAS_C(name) HIPBLAS_##name
#include "../../libraries/blas.h"
#undef BLAS
#undef BLAS_C
#undef BLAS_KIND
#undef BLAS_KINDS
constexpr hipblasStatus_t HIPBLAS_STATUS_HANDLE_IS_NULLPTR = static_cast<hipblasStatus_t>(9), HIPBLAS_STATUS_INVALID_ENUM = static_cast<hipblasStatus_t>(10), HIPBLAS_STATUS_UNKNOWN = static_cast<hipblasStatus_t>(11);
using hipblasHalf = __half;  // as with HIPBLAS_USE_HIP_HALF
extern "C" {
inline const char* hipblasStatusToString(hipblasStatus_t status) { return status ? "failed" : "success"; }
#define HIPBLAS(name) hipblasStatus_t hipblas##name
#define HIPBLAS_DECLARED(P, T)                                                                           \
  HIPBLAS(P##swap)(hipblasHandle_t, int n, T* x, int incx, T* y, int incy);                             \
  HIPBLAS(P##geam)(hipblasHandle_t, hipblasOperation_t, hipblasOperation_t, int m, int n, const T* alpha, const T* a, int lda, const T* beta, const T* b, int ldb, T* c, int ldc); \
  HIPBLAS(P##syrk)(hipblasHandle_t, hipblasFillMode_t, hipblasOperation_t, int n, int k, const T* alpha, const T* a, int lda, const T* beta, T* c, int ldc); \
  HIPBLAS(P##trsm)(hipblasHandle_t, hipblasSideMode_t, hipblasFillMode_t, hipblasOperation_t, hipblasDiagType_t, int m, int n, const T* alpha, const T* a, int lda, T* b, int ldb); \
  HIPBLAS(P##gemmBatched)(hipblasHandle_t, hipblasOperation_t, hipblasOperation_t, int m, int n, int k, const T* alpha, const T* const a[], int lda, const T* const b[], int ldb, const T* beta, T* const c[], int ldc, int count); \
  HIPBLAS(P##getrfBatched)(hipblasHandle_t, int n, T* const a[], int lda, int* pivots, int* info, int count); \
  HIPBLAS(P##getrsBatched)(hipblasHandle_t, hipblasOperation_t, int n, int nrhs, T* const a[], int lda, const int* pivots, T* const b[], int ldb, int* info, int count); \
  HIPBLAS(P##getriBatched)(hipblasHandle_t, int n, T* const a[], int lda, int* pivots, T* const c[], int ldc, int* info, int count); \
  HIPBLAS(P##gelsBatched)(hipblasHandle_t, hipblasOperation_t, int m, int n, int nrhs, T* const a[], int lda, T* const b[], int ldb, int* info, int* infos, int count);
HIPBLAS_DECLARED(S, float)
HIPBLAS_DECLARED(D, double)
HIPBLAS_DECLARED(C, hipComplex)
HIPBLAS_DECLARED(Z, hipDoubleComplex)
#undef HIPBLAS_DECLARED
#undef HIPBLAS
}
