// Declarations of hipSPARSE for compile checks where no ROCm is installed: handles, descriptors and
// the functions of its generic interface. Nothing can be run.
// Source: hipSPARSE's API reference, ROCm 5.3 to 6.2 (SpMV and after take const descriptors now).
// Not compared with AMD's own header: a program that compiles with this may not with that.
#pragma once
#define HIPSPARSE_H
#include <cstddef>
#include <cstdint>
#include <hip/hip_complex.h>
#include <hip/hip_runtime.h>
#include <hip/library_types.h>
#define SPARSE_ENUM(name, ...) enum name { __VA_ARGS__ };
SPARSE_ENUM(hipsparseStatus_t, HIPSPARSE_STATUS_SUCCESS, HIPSPARSE_STATUS_NOT_INITIALIZED, HIPSPARSE_STATUS_ALLOC_FAILED,
  HIPSPARSE_STATUS_INVALID_VALUE, HIPSPARSE_STATUS_ARCH_MISMATCH, HIPSPARSE_STATUS_MAPPING_ERROR,
  HIPSPARSE_STATUS_EXECUTION_FAILED, HIPSPARSE_STATUS_INTERNAL_ERROR, HIPSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED,
  HIPSPARSE_STATUS_ZERO_PIVOT, HIPSPARSE_STATUS_NOT_SUPPORTED, HIPSPARSE_STATUS_INSUFFICIENT_RESOURCES)
SPARSE_ENUM(hipsparsePointerMode_t, HIPSPARSE_POINTER_MODE_HOST, HIPSPARSE_POINTER_MODE_DEVICE)
SPARSE_ENUM(hipsparseAction_t, HIPSPARSE_ACTION_SYMBOLIC, HIPSPARSE_ACTION_NUMERIC)
SPARSE_ENUM(hipsparseMatrixType_t, HIPSPARSE_MATRIX_TYPE_GENERAL, HIPSPARSE_MATRIX_TYPE_SYMMETRIC,
  HIPSPARSE_MATRIX_TYPE_HERMITIAN, HIPSPARSE_MATRIX_TYPE_TRIANGULAR)
SPARSE_ENUM(hipsparseFillMode_t, HIPSPARSE_FILL_MODE_LOWER, HIPSPARSE_FILL_MODE_UPPER)
SPARSE_ENUM(hipsparseDiagType_t, HIPSPARSE_DIAG_TYPE_NON_UNIT, HIPSPARSE_DIAG_TYPE_UNIT)
SPARSE_ENUM(hipsparseIndexBase_t, HIPSPARSE_INDEX_BASE_ZERO, HIPSPARSE_INDEX_BASE_ONE)
SPARSE_ENUM(hipsparseOperation_t, HIPSPARSE_OPERATION_NON_TRANSPOSE, HIPSPARSE_OPERATION_TRANSPOSE, HIPSPARSE_OPERATION_CONJUGATE_TRANSPOSE)
SPARSE_ENUM(hipsparseSolvePolicy_t, HIPSPARSE_SOLVE_POLICY_NO_LEVEL, HIPSPARSE_SOLVE_POLICY_USE_LEVEL)
SPARSE_ENUM(hipsparseSideMode_t, HIPSPARSE_SIDE_LEFT, HIPSPARSE_SIDE_RIGHT)
SPARSE_ENUM(hipsparseDirection_t, HIPSPARSE_DIRECTION_ROW, HIPSPARSE_DIRECTION_COLUMN)
SPARSE_ENUM(hipsparseFormat_t, HIPSPARSE_FORMAT_CSR = 1, HIPSPARSE_FORMAT_CSC, HIPSPARSE_FORMAT_COO, HIPSPARSE_FORMAT_COO_AOS, HIPSPARSE_FORMAT_BLOCKED_ELL)
SPARSE_ENUM(hipsparseOrder_t, HIPSPARSE_ORDER_ROW, HIPSPARSE_ORDER_COLUMN, HIPSPARSE_ORDER_COL = 1)
SPARSE_ENUM(hipsparseIndexType_t, HIPSPARSE_INDEX_16U = 1, HIPSPARSE_INDEX_32I, HIPSPARSE_INDEX_64I)
SPARSE_ENUM(hipsparseSpMVAlg_t, HIPSPARSE_MV_ALG_DEFAULT, HIPSPARSE_COOMV_ALG, HIPSPARSE_CSRMV_ALG1, HIPSPARSE_CSRMV_ALG2,
  HIPSPARSE_SPMV_ALG_DEFAULT, HIPSPARSE_SPMV_COO_ALG1, HIPSPARSE_SPMV_COO_ALG2, HIPSPARSE_SPMV_CSR_ALG1, HIPSPARSE_SPMV_CSR_ALG2)
SPARSE_ENUM(hipsparseSpMMAlg_t, HIPSPARSE_MM_ALG_DEFAULT, HIPSPARSE_SPMM_ALG_DEFAULT = 5, HIPSPARSE_SPMM_COO_ALG1, HIPSPARSE_SPMM_COO_ALG2,
  HIPSPARSE_SPMM_COO_ALG3, HIPSPARSE_SPMM_COO_ALG4, HIPSPARSE_SPMM_CSR_ALG1, HIPSPARSE_SPMM_CSR_ALG2, HIPSPARSE_SPMM_BLOCKED_ELL_ALG1, HIPSPARSE_SPMM_CSR_ALG3)
SPARSE_ENUM(hipsparseSparseToDenseAlg_t, HIPSPARSE_SPARSETODENSE_ALG_DEFAULT)
SPARSE_ENUM(hipsparseDenseToSparseAlg_t, HIPSPARSE_DENSETOSPARSE_ALG_DEFAULT)
SPARSE_ENUM(hipsparseSDDMMAlg_t, HIPSPARSE_SDDMM_ALG_DEFAULT)
SPARSE_ENUM(hipsparseSpSVAlg_t, HIPSPARSE_SPSV_ALG_DEFAULT)
SPARSE_ENUM(hipsparseSpGEMMAlg_t, HIPSPARSE_SPGEMM_DEFAULT)
SPARSE_ENUM(hipsparseCsr2CscAlg_t, HIPSPARSE_CSR2CSC_ALG_DEFAULT, HIPSPARSE_CSR2CSC_ALG1, HIPSPARSE_CSR2CSC_ALG2)
SPARSE_ENUM(hipsparseSpMatAttribute_t, HIPSPARSE_SPMAT_FILL_MODE, HIPSPARSE_SPMAT_DIAG_TYPE)
#undef SPARSE_ENUM
using hipsparseHandle_t = void*;
using hipsparseMatDescr_t = void*;
using hipsparseSpVecDescr_t = void*;
using hipsparseSpMatDescr_t = void*;
using hipsparseDnVecDescr_t = void*;
using hipsparseDnMatDescr_t = void*;
using hipsparseConstSpMatDescr_t = const void*;
using hipsparseConstDnVecDescr_t = const void*;
using hipsparseConstDnMatDescr_t = const void*;
using hipsparseSpGEMMDescr_t = struct hipsparseSpGEMMDescr*;
using hipsparseSpSVDescr_t = struct hipsparseSpSVDescr*;

extern "C" {
#define SPARSE(name) hipsparseStatus_t hipsparse##name
#define SPARSE_ALL(name, ...)                            \
  SPARSE(S##name)(__VA_ARGS__(float));                   \
  SPARSE(D##name)(__VA_ARGS__(double));                  \
  SPARSE(C##name)(__VA_ARGS__(hipComplex));              \
  SPARSE(Z##name)(__VA_ARGS__(hipDoubleComplex));
const char* hipsparseGetErrorString(hipsparseStatus_t);
const char* hipsparseGetErrorName(hipsparseStatus_t);
SPARSE(Create)(hipsparseHandle_t*);
SPARSE(Destroy)(hipsparseHandle_t);
SPARSE(GetVersion)(hipsparseHandle_t, int*);
SPARSE(SetStream)(hipsparseHandle_t, hipStream_t);
SPARSE(GetStream)(hipsparseHandle_t, hipStream_t*);
SPARSE(SetPointerMode)(hipsparseHandle_t, hipsparsePointerMode_t);
SPARSE(GetPointerMode)(hipsparseHandle_t, hipsparsePointerMode_t*);
SPARSE(CreateMatDescr)(hipsparseMatDescr_t*);
SPARSE(DestroyMatDescr)(hipsparseMatDescr_t);
SPARSE(SetMatType)(hipsparseMatDescr_t, hipsparseMatrixType_t);
SPARSE(SetMatIndexBase)(hipsparseMatDescr_t, hipsparseIndexBase_t);
SPARSE(SetMatFillMode)(hipsparseMatDescr_t, hipsparseFillMode_t);
SPARSE(SetMatDiagType)(hipsparseMatDescr_t, hipsparseDiagType_t);
// ---- vectors and matrices
SPARSE(CreateSpVec)(hipsparseSpVecDescr_t*, int64_t size, int64_t nnz, void* indices, void* values, hipsparseIndexType_t, hipsparseIndexBase_t, hipDataType);
SPARSE(DestroySpVec)(hipsparseSpVecDescr_t);
SPARSE(CreateCoo)(hipsparseSpMatDescr_t*, int64_t rows, int64_t columns, int64_t nnz, void* row, void* column, void* values, hipsparseIndexType_t, hipsparseIndexBase_t, hipDataType);
SPARSE(CreateCsr)(hipsparseSpMatDescr_t*, int64_t rows, int64_t columns, int64_t nnz, void* starts, void* column, void* values, hipsparseIndexType_t starts_type, hipsparseIndexType_t column_type, hipsparseIndexBase_t, hipDataType);
SPARSE(CreateCsc)(hipsparseSpMatDescr_t*, int64_t rows, int64_t columns, int64_t nnz, void* starts, void* row, void* values, hipsparseIndexType_t starts_type, hipsparseIndexType_t row_type, hipsparseIndexBase_t, hipDataType);
SPARSE(CreateBlockedEll)(hipsparseSpMatDescr_t*, int64_t rows, int64_t columns, int64_t block, int64_t ell_columns, void* column, void* values, hipsparseIndexType_t, hipsparseIndexBase_t, hipDataType);
SPARSE(DestroySpMat)(hipsparseSpMatDescr_t);
SPARSE(CooSetPointers)(hipsparseSpMatDescr_t, void* row, void* column, void* values);
SPARSE(CsrSetPointers)(hipsparseSpMatDescr_t, void* starts, void* column, void* values);
SPARSE(CscSetPointers)(hipsparseSpMatDescr_t, void* starts, void* row, void* values);
SPARSE(SpMatGetSize)(hipsparseSpMatDescr_t, int64_t* rows, int64_t* columns, int64_t* nnz);
SPARSE(SpMatGetFormat)(hipsparseConstSpMatDescr_t, hipsparseFormat_t*);
SPARSE(SpMatSetAttribute)(hipsparseSpMatDescr_t, hipsparseSpMatAttribute_t, const void* data, size_t);
SPARSE(CreateDnVec)(hipsparseDnVecDescr_t*, int64_t size, void* values, hipDataType);
SPARSE(DestroyDnVec)(hipsparseDnVecDescr_t);
SPARSE(DnVecSetValues)(hipsparseDnVecDescr_t, void*);
SPARSE(DnVecGetValues)(hipsparseConstDnVecDescr_t, void**);
SPARSE(CreateDnMat)(hipsparseDnMatDescr_t*, int64_t rows, int64_t columns, int64_t ld, void* values, hipDataType, hipsparseOrder_t);
SPARSE(DestroyDnMat)(hipsparseDnMatDescr_t);
SPARSE(DnMatSetStridedBatch)(hipsparseDnMatDescr_t, int count, int64_t stride);
SPARSE(CooSetStridedBatch)(hipsparseSpMatDescr_t, int count, int64_t stride);
SPARSE(CsrSetStridedBatch)(hipsparseSpMatDescr_t, int count, int64_t starts_stride, int64_t values_stride);
// ---- products
#define SPARSE_MV hipsparseHandle_t, hipsparseOperation_t, const void* alpha, hipsparseConstSpMatDescr_t, hipsparseConstDnVecDescr_t, const void* beta, hipsparseDnVecDescr_t, hipDataType, hipsparseSpMVAlg_t
SPARSE(SpMV_bufferSize)(SPARSE_MV, size_t*);
SPARSE(SpMV_preprocess)(SPARSE_MV, void*);
SPARSE(SpMV)(SPARSE_MV, void*);
#define SPARSE_MM hipsparseHandle_t, hipsparseOperation_t, hipsparseOperation_t, const void* alpha, hipsparseConstSpMatDescr_t, hipsparseConstDnMatDescr_t, const void* beta, hipsparseDnMatDescr_t, hipDataType, hipsparseSpMMAlg_t
SPARSE(SpMM_bufferSize)(SPARSE_MM, size_t*);
SPARSE(SpMM_preprocess)(SPARSE_MM, void*);
SPARSE(SpMM)(SPARSE_MM, void*);
#define SPARSE_SDDMM hipsparseHandle_t, hipsparseOperation_t, hipsparseOperation_t, const void* alpha, hipsparseConstDnMatDescr_t, hipsparseConstDnMatDescr_t, const void* beta, hipsparseSpMatDescr_t, hipDataType, hipsparseSDDMMAlg_t
SPARSE(SDDMM_bufferSize)(SPARSE_SDDMM, size_t*);
SPARSE(SDDMM_preprocess)(SPARSE_SDDMM, void*);
SPARSE(SDDMM)(SPARSE_SDDMM, void*);
#define SPARSE_GEMM hipsparseHandle_t, hipsparseOperation_t, hipsparseOperation_t, const void* alpha, hipsparseConstSpMatDescr_t, hipsparseConstSpMatDescr_t, const void* beta, hipsparseSpMatDescr_t, hipDataType, hipsparseSpGEMMAlg_t, hipsparseSpGEMMDescr_t
SPARSE(SpGEMM_createDescr)(hipsparseSpGEMMDescr_t*);
SPARSE(SpGEMM_destroyDescr)(hipsparseSpGEMMDescr_t);
SPARSE(SpGEMM_workEstimation)(SPARSE_GEMM, size_t*, void*);
SPARSE(SpGEMM_compute)(SPARSE_GEMM, size_t*, void*);
SPARSE(SpGEMM_copy)(SPARSE_GEMM);
#define SPARSE_SV hipsparseHandle_t, hipsparseOperation_t, const void* alpha, hipsparseConstSpMatDescr_t, hipsparseConstDnVecDescr_t, hipsparseDnVecDescr_t, hipDataType, hipsparseSpSVAlg_t, hipsparseSpSVDescr_t
SPARSE(SpSV_createDescr)(hipsparseSpSVDescr_t*);
SPARSE(SpSV_destroyDescr)(hipsparseSpSVDescr_t);
SPARSE(SpSV_bufferSize)(SPARSE_SV, size_t*);
SPARSE(SpSV_analysis)(SPARSE_SV, void*);
SPARSE(SpSV_solve)(SPARSE_SV);
SPARSE(SpVV_bufferSize)(hipsparseHandle_t, hipsparseOperation_t, hipsparseSpVecDescr_t, hipsparseDnVecDescr_t, void*, hipDataType, size_t*);
SPARSE(SpVV)(hipsparseHandle_t, hipsparseOperation_t, hipsparseSpVecDescr_t, hipsparseDnVecDescr_t, void*, hipDataType, void*);
SPARSE(Axpby)(hipsparseHandle_t, const void* alpha, hipsparseSpVecDescr_t, const void* beta, hipsparseDnVecDescr_t);
SPARSE(Gather)(hipsparseHandle_t, hipsparseDnVecDescr_t, hipsparseSpVecDescr_t);
SPARSE(Scatter)(hipsparseHandle_t, hipsparseSpVecDescr_t, hipsparseDnVecDescr_t);
// ---- conversions
SPARSE(SparseToDense_bufferSize)(hipsparseHandle_t, hipsparseConstSpMatDescr_t, hipsparseDnMatDescr_t, hipsparseSparseToDenseAlg_t, size_t*);
SPARSE(SparseToDense)(hipsparseHandle_t, hipsparseConstSpMatDescr_t, hipsparseDnMatDescr_t, hipsparseSparseToDenseAlg_t, void*);
SPARSE(DenseToSparse_bufferSize)(hipsparseHandle_t, hipsparseConstDnMatDescr_t, hipsparseSpMatDescr_t, hipsparseDenseToSparseAlg_t, size_t*);
SPARSE(DenseToSparse_analysis)(hipsparseHandle_t, hipsparseConstDnMatDescr_t, hipsparseSpMatDescr_t, hipsparseDenseToSparseAlg_t, void*);
SPARSE(DenseToSparse_convert)(hipsparseHandle_t, hipsparseConstDnMatDescr_t, hipsparseSpMatDescr_t, hipsparseDenseToSparseAlg_t, void*);
SPARSE(Xcsr2coo)(hipsparseHandle_t, const int* starts, int nnz, int rows, int* row, hipsparseIndexBase_t);
SPARSE(Xcoo2csr)(hipsparseHandle_t, const int* row, int nnz, int rows, int* starts, hipsparseIndexBase_t);
SPARSE(Csr2cscEx2_bufferSize)(hipsparseHandle_t, int m, int n, int nnz, const void* values, const int* starts, const int* column, void* to_values, int* to_starts, int* to_row, hipDataType, hipsparseAction_t, hipsparseIndexBase_t, hipsparseCsr2CscAlg_t, size_t*);
SPARSE(Csr2cscEx2)(hipsparseHandle_t, int m, int n, int nnz, const void* values, const int* starts, const int* column, void* to_values, int* to_starts, int* to_row, hipDataType, hipsparseAction_t, hipsparseIndexBase_t, hipsparseCsr2CscAlg_t, void*);
#define SPARSE_NNZ(T) hipsparseHandle_t, hipsparseDirection_t, int m, int n, const hipsparseMatDescr_t, const T* dense, int ld, int* per_row, int* total
SPARSE_ALL(nnz, SPARSE_NNZ)
#undef SPARSE
#undef SPARSE_ALL
#undef SPARSE_MV
#undef SPARSE_MM
#undef SPARSE_SDDMM
#undef SPARSE_GEMM
#undef SPARSE_SV
#undef SPARSE_NNZ
}
