// A stand-in for AMD's header, under the emulation and for compile checks where no ROCm is installed.
// The emulation has what libraries/sparse.h defines; the rest is declared.
// Source: hipSPARSE's API reference, ROCm 5.3 to 6.2 (SpMV and after take const descriptors now).
// Not compared with AMD's own header: a program that compiles with this may not with that.
#pragma once
#define HIPSPARSE_H
#include <hip/hip_complex.h>
#include <hip/hip_runtime.h>
#include <hip/library_types.h>
#define SPARSE_KIND hipDataType
#define SPARSE_KINDS(name) HIP_##name
#define SPARSE(name) hipsparse##name
#define SPARSE_C(name) HIPSPARSE_##name
#include "../../libraries/sparse.h"
#undef SPARSE
#undef SPARSE_C
#undef SPARSE_KIND
#undef SPARSE_KINDS
extern "C" {
#define SPARSE(name) hipsparseStatus_t hipsparse##name
SPARSE(GetStream)(hipsparseHandle_t, hipStream_t*);
SPARSE(GetPointerMode)(hipsparseHandle_t, hipsparsePointerMode_t*);
SPARSE(CreateBlockedEll)(hipsparseSpMatDescr_t*, int64_t rows, int64_t columns, int64_t block, int64_t ell_columns, void* column, void* values, hipsparseIndexType_t, hipsparseIndexBase_t, hipDataType);
SPARSE(CooSetStridedBatch)(hipsparseSpMatDescr_t, int count, int64_t stride);
SPARSE(CsrSetStridedBatch)(hipsparseSpMatDescr_t, int count, int64_t starts_stride, int64_t values_stride);
#define SPARSE_GEMM hipsparseHandle_t, hipsparseOperation_t, hipsparseOperation_t, const void* alpha, hipsparseConstSpMatDescr_t, hipsparseConstSpMatDescr_t, const void* beta, hipsparseSpMatDescr_t, hipDataType, hipsparseSpGEMMAlg_t, hipsparseSpGEMMDescr_t
SPARSE(SpGEMM_createDescr)(hipsparseSpGEMMDescr_t*);
SPARSE(SpGEMM_destroyDescr)(hipsparseSpGEMMDescr_t);
SPARSE(SpGEMM_workEstimation)(SPARSE_GEMM, size_t*, void*);
SPARSE(SpGEMM_compute)(SPARSE_GEMM, size_t*, void*);
SPARSE(SpGEMM_copy)(SPARSE_GEMM);
SPARSE(SpVV_bufferSize)(hipsparseHandle_t, hipsparseOperation_t, hipsparseSpVecDescr_t, hipsparseDnVecDescr_t, void*, hipDataType, size_t*);
SPARSE(SpVV)(hipsparseHandle_t, hipsparseOperation_t, hipsparseSpVecDescr_t, hipsparseDnVecDescr_t, void*, hipDataType, void*);
SPARSE(Xcsr2coo)(hipsparseHandle_t, const int* starts, int nnz, int rows, int* row, hipsparseIndexBase_t);
SPARSE(Xcoo2csr)(hipsparseHandle_t, const int* row, int nnz, int rows, int* starts, hipsparseIndexBase_t);
SPARSE(Csr2cscEx2_bufferSize)(hipsparseHandle_t, int m, int n, int nnz, const void* values, const int* starts, const int* column, void* to_values, int* to_starts, int* to_row, hipDataType, hipsparseAction_t, hipsparseIndexBase_t, hipsparseCsr2CscAlg_t, size_t*);
SPARSE(Csr2cscEx2)(hipsparseHandle_t, int m, int n, int nnz, const void* values, const int* starts, const int* column, void* to_values, int* to_starts, int* to_row, hipDataType, hipsparseAction_t, hipsparseIndexBase_t, hipsparseCsr2CscAlg_t, void*);
#define SPARSE_NNZ(T) hipsparseHandle_t, hipsparseDirection_t, int m, int n, const hipsparseMatDescr_t, const T* dense, int ld, int* per_row, int* total
SPARSE(Cnnz)(SPARSE_NNZ(hipComplex));
SPARSE(Znnz)(SPARSE_NNZ(hipDoubleComplex));
#undef SPARSE
#undef SPARSE_GEMM
#undef SPARSE_NNZ
}
