// Declarations of hipSOLVER's dense functions for compile checks where no ROCm is installed, with
// the arguments of cuSOLVER's. Nothing can be run.
// Source: hipSOLVER's API reference, ROCm 6.2, "Compatibility API".
// Not compared with AMD's own header: a program that compiles with this may not with that.
#pragma once
#define HIPSOLVER_H
#include <hip/hip_complex.h>
#include <hip/hip_runtime.h>
#include <hipblas/hipblas.h>
enum hipsolverStatus_t {
  HIPSOLVER_STATUS_SUCCESS, HIPSOLVER_STATUS_NOT_INITIALIZED, HIPSOLVER_STATUS_ALLOC_FAILED, HIPSOLVER_STATUS_INVALID_VALUE,
  HIPSOLVER_STATUS_MAPPING_ERROR, HIPSOLVER_STATUS_EXECUTION_FAILED, HIPSOLVER_STATUS_INTERNAL_ERROR,
  HIPSOLVER_STATUS_NOT_SUPPORTED, HIPSOLVER_STATUS_ARCH_MISMATCH, HIPSOLVER_STATUS_HANDLE_IS_NULLPTR,
  HIPSOLVER_STATUS_INVALID_ENUM, HIPSOLVER_STATUS_UNKNOWN, HIPSOLVER_STATUS_ZERO_PIVOT, HIPSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED,
};
enum hipsolverEigMode_t { HIPSOLVER_EIG_MODE_NOVECTOR = 201, HIPSOLVER_EIG_MODE_VECTOR };
enum hipsolverEigType_t { HIPSOLVER_EIG_TYPE_1 = 211, HIPSOLVER_EIG_TYPE_2, HIPSOLVER_EIG_TYPE_3 };
enum hipsolverEigRange_t { HIPSOLVER_EIG_RANGE_ALL = 221, HIPSOLVER_EIG_RANGE_V, HIPSOLVER_EIG_RANGE_I };
using hipsolverHandle_t = void*;
using hipsolverDnHandle_t = void*;
using hipsolverSyevjInfo_t = struct hipsolverSyevjInfo*;
using hipsolverGesvdjInfo_t = struct hipsolverGesvdjInfo*;
extern "C" {
#define SOLVER(name) hipsolverStatus_t hipsolver##name
SOLVER(DnCreate)(hipsolverHandle_t*);
SOLVER(DnDestroy)(hipsolverHandle_t);
SOLVER(SetStream)(hipsolverHandle_t, hipStream_t);
SOLVER(GetStream)(hipsolverHandle_t, hipStream_t*);
SOLVER(DnCreateSyevjInfo)(hipsolverSyevjInfo_t*);
SOLVER(DnDestroySyevjInfo)(hipsolverSyevjInfo_t);
SOLVER(DnXsyevjSetTolerance)(hipsolverSyevjInfo_t, double);
SOLVER(DnXsyevjSetMaxSweeps)(hipsolverSyevjInfo_t, int);
SOLVER(DnCreateGesvdjInfo)(hipsolverGesvdjInfo_t*);
SOLVER(DnDestroyGesvdjInfo)(hipsolverGesvdjInfo_t);
SOLVER(DnXgesvdjSetTolerance)(hipsolverGesvdjInfo_t, double);
SOLVER(DnXgesvdjSetMaxSweeps)(hipsolverGesvdjInfo_t, int);
// LU, Cholesky, QR and singular values of all four numbers; R is the real number beside T.
#define SOLVER_ANY(P, T, R)                                                                            \
  SOLVER(Dn##P##getrf_bufferSize)(hipsolverHandle_t, int m, int n, T* a, int lda, int* size);           \
  SOLVER(Dn##P##getrf)(hipsolverHandle_t, int m, int n, T* a, int lda, T* work, int* pivots, int* info); \
  SOLVER(Dn##P##getrs)(hipsolverHandle_t, hipblasOperation_t, int n, int nrhs, const T* a, int lda, const int* pivots, T* b, int ldb, int* info); \
  SOLVER(Dn##P##potrf_bufferSize)(hipsolverHandle_t, hipblasFillMode_t, int n, T* a, int lda, int* size); \
  SOLVER(Dn##P##potrf)(hipsolverHandle_t, hipblasFillMode_t, int n, T* a, int lda, T* work, int size, int* info); \
  SOLVER(Dn##P##potrs)(hipsolverHandle_t, hipblasFillMode_t, int n, int nrhs, const T* a, int lda, T* b, int ldb, int* info); \
  SOLVER(Dn##P##potrfBatched)(hipsolverHandle_t, hipblasFillMode_t, int n, T** a, int lda, int* info, int count); \
  SOLVER(Dn##P##potrsBatched)(hipsolverHandle_t, hipblasFillMode_t, int n, int nrhs, T** a, int lda, T** b, int ldb, int* info, int count); \
  SOLVER(Dn##P##potri_bufferSize)(hipsolverHandle_t, hipblasFillMode_t, int n, T* a, int lda, int* size); \
  SOLVER(Dn##P##potri)(hipsolverHandle_t, hipblasFillMode_t, int n, T* a, int lda, T* work, int size, int* info); \
  SOLVER(Dn##P##geqrf_bufferSize)(hipsolverHandle_t, int m, int n, T* a, int lda, int* size);           \
  SOLVER(Dn##P##geqrf)(hipsolverHandle_t, int m, int n, T* a, int lda, T* tau, T* work, int size, int* info); \
  SOLVER(Dn##P##gesvd_bufferSize)(hipsolverHandle_t, int m, int n, int* size);                          \
  SOLVER(Dn##P##gesvd)(hipsolverHandle_t, signed char jobu, signed char jobvt, int m, int n, T* a, int lda, R* s, T* u, int ldu, T* vt, int ldvt, T* work, int size, R* rwork, int* info);
SOLVER_ANY(S, float, float)
SOLVER_ANY(D, double, double)
SOLVER_ANY(C, hipFloatComplex, float)
SOLVER_ANY(Z, hipDoubleComplex, double)
// What has one name for real numbers and another for complex ones.
#define SOLVER_EIGEN(P, sy, or_, T, R)                                                                 \
  SOLVER(Dn##P##sy##evd_bufferSize)(hipsolverHandle_t, hipsolverEigMode_t, hipblasFillMode_t, int n, const T* a, int lda, const R* w, int* size); \
  SOLVER(Dn##P##sy##evd)(hipsolverHandle_t, hipsolverEigMode_t, hipblasFillMode_t, int n, T* a, int lda, R* w, T* work, int size, int* info); \
  SOLVER(Dn##P##sy##evj_bufferSize)(hipsolverHandle_t, hipsolverEigMode_t, hipblasFillMode_t, int n, const T* a, int lda, const R* w, int* size, hipsolverSyevjInfo_t); \
  SOLVER(Dn##P##sy##evj)(hipsolverHandle_t, hipsolverEigMode_t, hipblasFillMode_t, int n, T* a, int lda, R* w, T* work, int size, int* info, hipsolverSyevjInfo_t); \
  SOLVER(Dn##P##or_##gqr_bufferSize)(hipsolverHandle_t, int m, int n, int k, const T* a, int lda, const T* tau, int* size); \
  SOLVER(Dn##P##or_##gqr)(hipsolverHandle_t, int m, int n, int k, T* a, int lda, const T* tau, T* work, int size, int* info); \
  SOLVER(Dn##P##or_##mqr_bufferSize)(hipsolverHandle_t, hipblasSideMode_t, hipblasOperation_t, int m, int n, int k, const T* a, int lda, const T* tau, const T* c, int ldc, int* size); \
  SOLVER(Dn##P##or_##mqr)(hipsolverHandle_t, hipblasSideMode_t, hipblasOperation_t, int m, int n, int k, const T* a, int lda, const T* tau, T* c, int ldc, T* work, int size, int* info);
SOLVER_EIGEN(S, sy, or, float, float)
SOLVER_EIGEN(D, sy, or, double, double)
SOLVER_EIGEN(C, he, un, hipFloatComplex, float)
SOLVER_EIGEN(Z, he, un, hipDoubleComplex, double)
#undef SOLVER_ANY
#undef SOLVER_EIGEN
#undef SOLVER
}
