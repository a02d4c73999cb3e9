// Sparse linear algebra in plain loops: the functions of cuSPARSE's and hipSPARSE's generic interface
// that programs call most, with their arguments. SPARSE(x) and SPARSE_C(x) give a library's names.
// Not covered: complex numbers and halves, batches of sparse matrices, products of two sparse
// matrices, triangular solvers of transposed matrices.
#include <cstdint>
#include <vector>

#define SPARSE_ENUM(name, ...) enum SPARSE(name) { __VA_ARGS__ };
SPARSE_ENUM(Status_t, SPARSE_C(STATUS_SUCCESS), SPARSE_C(STATUS_NOT_INITIALIZED), SPARSE_C(STATUS_ALLOC_FAILED),
  SPARSE_C(STATUS_INVALID_VALUE), SPARSE_C(STATUS_ARCH_MISMATCH), SPARSE_C(STATUS_MAPPING_ERROR),
  SPARSE_C(STATUS_EXECUTION_FAILED), SPARSE_C(STATUS_INTERNAL_ERROR), SPARSE_C(STATUS_MATRIX_TYPE_NOT_SUPPORTED),
  SPARSE_C(STATUS_ZERO_PIVOT), SPARSE_C(STATUS_NOT_SUPPORTED), SPARSE_C(STATUS_INSUFFICIENT_RESOURCES))
SPARSE_ENUM(PointerMode_t, SPARSE_C(POINTER_MODE_HOST), SPARSE_C(POINTER_MODE_DEVICE))
SPARSE_ENUM(Action_t, SPARSE_C(ACTION_SYMBOLIC), SPARSE_C(ACTION_NUMERIC))
SPARSE_ENUM(MatrixType_t, SPARSE_C(MATRIX_TYPE_GENERAL), SPARSE_C(MATRIX_TYPE_SYMMETRIC),
  SPARSE_C(MATRIX_TYPE_HERMITIAN), SPARSE_C(MATRIX_TYPE_TRIANGULAR))
SPARSE_ENUM(FillMode_t, SPARSE_C(FILL_MODE_LOWER), SPARSE_C(FILL_MODE_UPPER))
SPARSE_ENUM(DiagType_t, SPARSE_C(DIAG_TYPE_NON_UNIT), SPARSE_C(DIAG_TYPE_UNIT))
SPARSE_ENUM(IndexBase_t, SPARSE_C(INDEX_BASE_ZERO), SPARSE_C(INDEX_BASE_ONE))
SPARSE_ENUM(Operation_t, SPARSE_C(OPERATION_NON_TRANSPOSE), SPARSE_C(OPERATION_TRANSPOSE), SPARSE_C(OPERATION_CONJUGATE_TRANSPOSE))
SPARSE_ENUM(SolvePolicy_t, SPARSE_C(SOLVE_POLICY_NO_LEVEL), SPARSE_C(SOLVE_POLICY_USE_LEVEL))
SPARSE_ENUM(SideMode_t, SPARSE_C(SIDE_LEFT), SPARSE_C(SIDE_RIGHT))
SPARSE_ENUM(Direction_t, SPARSE_C(DIRECTION_ROW), SPARSE_C(DIRECTION_COLUMN))
SPARSE_ENUM(Format_t, SPARSE_C(FORMAT_CSR) = 1, SPARSE_C(FORMAT_CSC), SPARSE_C(FORMAT_COO), SPARSE_C(FORMAT_COO_AOS), SPARSE_C(FORMAT_BLOCKED_ELL))
SPARSE_ENUM(Order_t, SPARSE_C(ORDER_ROW), SPARSE_C(ORDER_COLUMN), SPARSE_C(ORDER_COL) = 1)
SPARSE_ENUM(IndexType_t, SPARSE_C(INDEX_16U) = 1, SPARSE_C(INDEX_32I), SPARSE_C(INDEX_64I))
SPARSE_ENUM(SpMVAlg_t, SPARSE_C(MV_ALG_DEFAULT), SPARSE_C(COOMV_ALG), SPARSE_C(CSRMV_ALG1), SPARSE_C(CSRMV_ALG2),
  SPARSE_C(SPMV_ALG_DEFAULT), SPARSE_C(SPMV_COO_ALG1), SPARSE_C(SPMV_COO_ALG2), SPARSE_C(SPMV_CSR_ALG1), SPARSE_C(SPMV_CSR_ALG2))
SPARSE_ENUM(SpMMAlg_t, SPARSE_C(MM_ALG_DEFAULT), SPARSE_C(SPMM_ALG_DEFAULT) = 5, SPARSE_C(SPMM_COO_ALG1), SPARSE_C(SPMM_COO_ALG2),
  SPARSE_C(SPMM_COO_ALG3), SPARSE_C(SPMM_COO_ALG4), SPARSE_C(SPMM_CSR_ALG1), SPARSE_C(SPMM_CSR_ALG2), SPARSE_C(SPMM_BLOCKED_ELL_ALG1), SPARSE_C(SPMM_CSR_ALG3))
SPARSE_ENUM(SparseToDenseAlg_t, SPARSE_C(SPARSETODENSE_ALG_DEFAULT))
SPARSE_ENUM(DenseToSparseAlg_t, SPARSE_C(DENSETOSPARSE_ALG_DEFAULT))
SPARSE_ENUM(SDDMMAlg_t, SPARSE_C(SDDMM_ALG_DEFAULT))
SPARSE_ENUM(SpSVAlg_t, SPARSE_C(SPSV_ALG_DEFAULT))
SPARSE_ENUM(SpGEMMAlg_t, SPARSE_C(SPGEMM_DEFAULT))
SPARSE_ENUM(Csr2CscAlg_t, SPARSE_C(CSR2CSC_ALG_DEFAULT), SPARSE_C(CSR2CSC_ALG1), SPARSE_C(CSR2CSC_ALG2))
SPARSE_ENUM(SpMatAttribute_t, SPARSE_C(SPMAT_FILL_MODE), SPARSE_C(SPMAT_DIAG_TYPE))
#undef SPARSE_ENUM

// Numbers and indices of the kinds that descriptors name.
struct SPARSE(Kinds) {
  static double number(const void* at, SPARSE_KIND kind, std::int64_t i = 0) {
    return kind == SPARSE_KINDS(R_64F) ? static_cast<const double*>(at)[i] : static_cast<const float*>(at)[i];
  }
  static void set(void* at, SPARSE_KIND kind, std::int64_t i, double value) {
    if (kind == SPARSE_KINDS(R_64F)) static_cast<double*>(at)[i] = value;
    else static_cast<float*>(at)[i] = static_cast<float>(value);
  }
  static std::int64_t index(const void* at, SPARSE(IndexType_t) type, std::int64_t i) {
    return type == SPARSE_C(INDEX_64I) ? static_cast<const std::int64_t*>(at)[i] : static_cast<const std::int32_t*>(at)[i];
  }
  static void set_index(void* at, SPARSE(IndexType_t) type, std::int64_t i, std::int64_t value) {
    if (type == SPARSE_C(INDEX_64I)) static_cast<std::int64_t*>(at)[i] = value;
    else static_cast<std::int32_t*>(at)[i] = static_cast<std::int32_t>(value);
  }
  static bool are_known(SPARSE_KIND kind) { return kind == SPARSE_KINDS(R_32F) || kind == SPARSE_KINDS(R_64F); }
};
struct SPARSE(Dense) {  // a matrix, or a vector as its only column
  std::int64_t rows, columns, ld;
  void* values;
  SPARSE_KIND kind;
  SPARSE(Order_t) order;
  std::int64_t count = 1, stride = 0;
  std::int64_t place(std::int64_t i, std::int64_t j, std::int64_t batch = 0) const {
    return batch * stride + (order == SPARSE_C(ORDER_ROW) ? i * ld + j : j * ld + i);
  }
  double get(std::int64_t i, std::int64_t j = 0, std::int64_t batch = 0) const { return SPARSE(Kinds)::number(values, kind, place(i, j, batch)); }
  void set(std::int64_t i, std::int64_t j, double value, std::int64_t batch = 0) const { SPARSE(Kinds)::set(values, kind, place(i, j, batch), value); }
};
struct SPARSE(Sparse) {  // CSR's and CSC's starts, or COO's rows; a vector is one row in COO without rows
  SPARSE(Format_t) format;
  std::int64_t rows, columns, nnz;
  void *outer, *inner, *values;
  SPARSE(IndexType_t) outer_type, inner_type;
  std::int64_t base;
  SPARSE_KIND kind;
  SPARSE(FillMode_t) fill = SPARSE_C(FILL_MODE_LOWER);
  SPARSE(DiagType_t) diagonal = SPARSE_C(DIAG_TYPE_NON_UNIT);
  std::int64_t outer_at(std::int64_t i) const { return outer ? SPARSE(Kinds)::index(outer, outer_type, i) - base : 0; }
  std::int64_t inner_at(std::int64_t i) const { return SPARSE(Kinds)::index(inner, inner_type, i) - base; }
  double get(std::int64_t k) const { return SPARSE(Kinds)::number(values, kind, k); }
  // Calls f(row, column, place) for each element.
  template <typename F> void each(F f) const {
    if (format == SPARSE_C(FORMAT_COO)) {
      for (std::int64_t k = 0; k < nnz; ++k) f(outer_at(k), inner_at(k), k);
      return;
    }
    const bool by_row = format == SPARSE_C(FORMAT_CSR);
    for (std::int64_t i = 0; i < (by_row ? rows : columns); ++i)
      for (std::int64_t k = outer_at(i); k < outer_at(i + 1); ++k)
        by_row ? f(i, inner_at(k), k) : f(inner_at(k), i, k);
  }
};
struct SPARSE(State) { int unused; };
struct SPARSE(MatDescr) { SPARSE(IndexBase_t) base; };
using SPARSE(Handle_t) = SPARSE(State)*;
using SPARSE(MatDescr_t) = SPARSE(MatDescr)*;
using SPARSE(SpVecDescr_t) = SPARSE(Sparse)*;
using SPARSE(SpMatDescr_t) = SPARSE(Sparse)*;
using SPARSE(DnVecDescr_t) = SPARSE(Dense)*;
using SPARSE(DnMatDescr_t) = SPARSE(Dense)*;
using SPARSE(ConstSpVecDescr_t) = const SPARSE(Sparse)*;
using SPARSE(ConstSpMatDescr_t) = const SPARSE(Sparse)*;
using SPARSE(ConstDnVecDescr_t) = const SPARSE(Dense)*;
using SPARSE(ConstDnMatDescr_t) = const SPARSE(Dense)*;
using SPARSE(SpGEMMDescr_t) = struct SPARSE(SpGEMMDescr)*;
using SPARSE(SpSVDescr_t) = SPARSE(State)*;

#define SPARSE_DOES(name) inline SPARSE(Status_t) SPARSE(name)
#define SPARSE_DONE return SPARSE_C(STATUS_SUCCESS)
#define SPARSE_ROOM { *bytes = 8; SPARSE_DONE; }
inline const char* SPARSE(GetErrorString)(SPARSE(Status_t) status) { return status ? "failed" : "success"; }
inline const char* SPARSE(GetErrorName)(SPARSE(Status_t) status) { return SPARSE(GetErrorString)(status); }
SPARSE_DOES(Create)(SPARSE(Handle_t)* h) { *h = new SPARSE(State){}; SPARSE_DONE; }
SPARSE_DOES(Destroy)(SPARSE(Handle_t) h) { delete h; SPARSE_DONE; }
SPARSE_DOES(GetVersion)(SPARSE(Handle_t), int* version) { *version = 12000; SPARSE_DONE; }
template <typename Stream> SPARSE(Status_t) SPARSE(SetStream)(SPARSE(Handle_t), Stream) { SPARSE_DONE; }
SPARSE_DOES(SetPointerMode)(SPARSE(Handle_t), SPARSE(PointerMode_t)) { SPARSE_DONE; }
SPARSE_DOES(CreateMatDescr)(SPARSE(MatDescr_t)* d) { *d = new SPARSE(MatDescr){}; SPARSE_DONE; }
SPARSE_DOES(DestroyMatDescr)(SPARSE(MatDescr_t) d) { delete d; SPARSE_DONE; }
SPARSE_DOES(SetMatType)(SPARSE(MatDescr_t), SPARSE(MatrixType_t)) { SPARSE_DONE; }
SPARSE_DOES(SetMatIndexBase)(SPARSE(MatDescr_t) d, SPARSE(IndexBase_t) base) { d->base = base; SPARSE_DONE; }
SPARSE_DOES(SetMatFillMode)(SPARSE(MatDescr_t), SPARSE(FillMode_t)) { SPARSE_DONE; }
SPARSE_DOES(SetMatDiagType)(SPARSE(MatDescr_t), SPARSE(DiagType_t)) { SPARSE_DONE; }

// ---- vectors and matrices
SPARSE_DOES(CreateDnMat)(SPARSE(DnMatDescr_t)* d, std::int64_t rows, std::int64_t columns, std::int64_t ld, void* values, SPARSE_KIND kind, SPARSE(Order_t) order) {
  if (!SPARSE(Kinds)::are_known(kind)) return SPARSE_C(STATUS_NOT_SUPPORTED);
  *d = new SPARSE(Dense){rows, columns, ld, values, kind, order};
  SPARSE_DONE;
}
SPARSE_DOES(CreateDnVec)(SPARSE(DnVecDescr_t)* d, std::int64_t size, void* values, SPARSE_KIND kind) {
  return SPARSE(CreateDnMat)(d, size, 1, size, values, kind, SPARSE_C(ORDER_COL));
}
SPARSE_DOES(DestroyDnMat)(SPARSE(ConstDnMatDescr_t) d) { delete d; SPARSE_DONE; }
SPARSE_DOES(DestroyDnVec)(SPARSE(ConstDnVecDescr_t) d) { delete d; SPARSE_DONE; }
SPARSE_DOES(DnVecSetValues)(SPARSE(DnVecDescr_t) d, void* values) { d->values = values; SPARSE_DONE; }
SPARSE_DOES(DnVecGetValues)(SPARSE(DnVecDescr_t) d, void** values) { *values = d->values; SPARSE_DONE; }
SPARSE_DOES(DnMatSetStridedBatch)(SPARSE(DnMatDescr_t) d, int count, std::int64_t stride) { d->count = count, d->stride = stride; SPARSE_DONE; }
inline SPARSE(Status_t) SPARSE(Made)(SPARSE(Sparse)** d, SPARSE(Sparse) made) {
  if (!SPARSE(Kinds)::are_known(made.kind)) return SPARSE_C(STATUS_NOT_SUPPORTED);
  *d = new SPARSE(Sparse)(made);
  SPARSE_DONE;
}
SPARSE_DOES(CreateCsr)(SPARSE(SpMatDescr_t)* d, std::int64_t rows, std::int64_t columns, std::int64_t nnz, void* starts, void* column, void* values, SPARSE(IndexType_t) starts_type, SPARSE(IndexType_t) column_type, SPARSE(IndexBase_t) base, SPARSE_KIND kind) {
  return SPARSE(Made)(d, {SPARSE_C(FORMAT_CSR), rows, columns, nnz, starts, column, values, starts_type, column_type, base, kind});
}
SPARSE_DOES(CreateCsc)(SPARSE(SpMatDescr_t)* d, std::int64_t rows, std::int64_t columns, std::int64_t nnz, void* starts, void* row, void* values, SPARSE(IndexType_t) starts_type, SPARSE(IndexType_t) row_type, SPARSE(IndexBase_t) base, SPARSE_KIND kind) {
  return SPARSE(Made)(d, {SPARSE_C(FORMAT_CSC), rows, columns, nnz, starts, row, values, starts_type, row_type, base, kind});
}
SPARSE_DOES(CreateCoo)(SPARSE(SpMatDescr_t)* d, std::int64_t rows, std::int64_t columns, std::int64_t nnz, void* row, void* column, void* values, SPARSE(IndexType_t) type, SPARSE(IndexBase_t) base, SPARSE_KIND kind) {
  return SPARSE(Made)(d, {SPARSE_C(FORMAT_COO), rows, columns, nnz, row, column, values, type, type, base, kind});
}
SPARSE_DOES(CreateSpVec)(SPARSE(SpVecDescr_t)* d, std::int64_t size, std::int64_t nnz, void* indices, void* values, SPARSE(IndexType_t) type, SPARSE(IndexBase_t) base, SPARSE_KIND kind) {
  return SPARSE(Made)(d, {SPARSE_C(FORMAT_COO), 1, size, nnz, nullptr, indices, values, type, type, base, kind});
}
SPARSE_DOES(DestroySpMat)(SPARSE(ConstSpMatDescr_t) d) { delete d; SPARSE_DONE; }
SPARSE_DOES(DestroySpVec)(SPARSE(ConstSpVecDescr_t) d) { delete d; SPARSE_DONE; }
SPARSE_DOES(CsrSetPointers)(SPARSE(SpMatDescr_t) d, void* outer, void* inner, void* values) { d->outer = outer, d->inner = inner, d->values = values; SPARSE_DONE; }
SPARSE_DOES(CscSetPointers)(SPARSE(SpMatDescr_t) d, void* outer, void* inner, void* values) { return SPARSE(CsrSetPointers)(d, outer, inner, values); }
SPARSE_DOES(CooSetPointers)(SPARSE(SpMatDescr_t) d, void* outer, void* inner, void* values) { return SPARSE(CsrSetPointers)(d, outer, inner, values); }
SPARSE_DOES(SpMatGetSize)(SPARSE(ConstSpMatDescr_t) d, std::int64_t* rows, std::int64_t* columns, std::int64_t* nnz) {
  *rows = d->rows, *columns = d->columns, *nnz = d->nnz;
  SPARSE_DONE;
}
SPARSE_DOES(SpMatGetFormat)(SPARSE(ConstSpMatDescr_t) d, SPARSE(Format_t)* format) { *format = d->format; SPARSE_DONE; }
SPARSE_DOES(SpMatSetAttribute)(SPARSE(SpMatDescr_t) d, SPARSE(SpMatAttribute_t) attribute, const void* data, std::size_t) {
  if (attribute == SPARSE_C(SPMAT_FILL_MODE)) d->fill = *static_cast<const SPARSE(FillMode_t)*>(data);
  else d->diagonal = *static_cast<const SPARSE(DiagType_t)*>(data);
  SPARSE_DONE;
}

// ---- products
#define SPARSE_MM SPARSE(Handle_t), SPARSE(Operation_t) op_a, SPARSE(Operation_t) op_b, const void* alpha, SPARSE(ConstSpMatDescr_t) a, SPARSE(ConstDnMatDescr_t) b, const void* beta, SPARSE(DnMatDescr_t) c, SPARSE_KIND kind, SPARSE(SpMMAlg_t)
SPARSE_DOES(SpMM_bufferSize)(SPARSE_MM, std::size_t* bytes) SPARSE_ROOM
SPARSE_DOES(SpMM_preprocess)(SPARSE_MM, void*) { SPARSE_DONE; }
SPARSE_DOES(SpMM)(SPARSE_MM, void*) {
  const double by = SPARSE(Kinds)::number(alpha, kind), old = SPARSE(Kinds)::number(beta, kind);
  for (std::int64_t batch = 0; batch < c->count; ++batch) {
    std::vector<double> sums(static_cast<std::size_t>(c->rows * c->columns));
    a->each([&](std::int64_t row, std::int64_t column, std::int64_t k) {
      const std::int64_t i = op_a ? column : row, inner = op_a ? row : column;
      for (std::int64_t j = 0; j < c->columns; ++j)
        sums[i * c->columns + j] += a->get(k) * (op_b ? b->get(j, inner, batch) : b->get(inner, j, batch));
    });
    for (std::int64_t i = 0; i < c->rows; ++i)
      for (std::int64_t j = 0; j < c->columns; ++j)
        c->set(i, j, by * sums[i * c->columns + j] + (old ? old * c->get(i, j, batch) : 0), batch);
  }
  SPARSE_DONE;
}
#define SPARSE_MV SPARSE(Handle_t) h, SPARSE(Operation_t) op, const void* alpha, SPARSE(ConstSpMatDescr_t) a, SPARSE(ConstDnVecDescr_t) x, const void* beta, SPARSE(DnVecDescr_t) y, SPARSE_KIND kind, SPARSE(SpMVAlg_t)
SPARSE_DOES(SpMV_bufferSize)(SPARSE_MV, std::size_t* bytes) SPARSE_ROOM
SPARSE_DOES(SpMV_preprocess)(SPARSE_MV, void*) { SPARSE_DONE; }
SPARSE_DOES(SpMV)(SPARSE_MV, void* room) {
  return SPARSE(SpMM)(h, op, SPARSE_C(OPERATION_NON_TRANSPOSE), alpha, a, x, beta, y, kind, SPARSE_C(SPMM_ALG_DEFAULT), room);
}
#define SPARSE_SDDMM SPARSE(Handle_t), SPARSE(Operation_t) op_a, SPARSE(Operation_t) op_b, const void* alpha, SPARSE(ConstDnMatDescr_t) a, SPARSE(ConstDnMatDescr_t) b, const void* beta, SPARSE(SpMatDescr_t) c, SPARSE_KIND kind, SPARSE(SDDMMAlg_t)
SPARSE_DOES(SDDMM_bufferSize)(SPARSE_SDDMM, std::size_t* bytes) SPARSE_ROOM
SPARSE_DOES(SDDMM_preprocess)(SPARSE_SDDMM, void*) { SPARSE_DONE; }
SPARSE_DOES(SDDMM)(SPARSE_SDDMM, void*) {
  const double by = SPARSE(Kinds)::number(alpha, kind), old = SPARSE(Kinds)::number(beta, kind);
  c->each([&](std::int64_t i, std::int64_t j, std::int64_t k) {
    double sum = 0;
    for (std::int64_t l = 0; l < (op_a ? a->rows : a->columns); ++l)
      sum += (op_a ? a->get(l, i) : a->get(i, l)) * (op_b ? b->get(j, l) : b->get(l, j));
    SPARSE(Kinds)::set(c->values, c->kind, k, by * sum + (old ? old * c->get(k) : 0));
  });
  SPARSE_DONE;
}
#define SPARSE_SV SPARSE(Handle_t), SPARSE(Operation_t) op, const void* alpha, SPARSE(ConstSpMatDescr_t) a, SPARSE(ConstDnVecDescr_t) x, SPARSE(DnVecDescr_t) y, SPARSE_KIND kind, SPARSE(SpSVAlg_t), SPARSE(SpSVDescr_t)
SPARSE_DOES(SpSV_createDescr)(SPARSE(SpSVDescr_t)* d) { *d = new SPARSE(State){}; SPARSE_DONE; }
SPARSE_DOES(SpSV_destroyDescr)(SPARSE(SpSVDescr_t) d) { delete d; SPARSE_DONE; }
SPARSE_DOES(SpSV_bufferSize)(SPARSE_SV, std::size_t* bytes) SPARSE_ROOM
SPARSE_DOES(SpSV_analysis)(SPARSE_SV, void*) { SPARSE_DONE; }
SPARSE_DOES(SpSV_solve)(SPARSE_SV) {
  if (op || a->format != SPARSE_C(FORMAT_CSR)) return SPARSE_C(STATUS_NOT_SUPPORTED);
  const bool is_lower = a->fill == SPARSE_C(FILL_MODE_LOWER);
  for (std::int64_t step = 0; step < a->rows; ++step) {
    const std::int64_t i = is_lower ? step : a->rows - 1 - step;
    double sum = SPARSE(Kinds)::number(alpha, kind) * x->get(i), own = 1;
    for (std::int64_t k = a->outer_at(i); k < a->outer_at(i + 1); ++k) {
      const std::int64_t j = a->inner_at(k);
      if (j == i && a->diagonal == SPARSE_C(DIAG_TYPE_NON_UNIT)) own = a->get(k);
      if (is_lower ? j < i : j > i) sum -= a->get(k) * y->get(j);
    }
    y->set(i, 0, sum / own);
  }
  SPARSE_DONE;
}
SPARSE_DOES(Axpby)(SPARSE(Handle_t), const void* alpha, SPARSE(ConstSpVecDescr_t) x, const void* beta, SPARSE(DnVecDescr_t) y) {
  const double by = SPARSE(Kinds)::number(alpha, y->kind), old = SPARSE(Kinds)::number(beta, y->kind);
  for (std::int64_t i = 0; i < y->rows; ++i) y->set(i, 0, old * y->get(i));
  x->each([&](std::int64_t, std::int64_t i, std::int64_t k) { y->set(i, 0, y->get(i) + by * x->get(k)); });
  SPARSE_DONE;
}
SPARSE_DOES(Gather)(SPARSE(Handle_t), SPARSE(ConstDnVecDescr_t) y, SPARSE(SpVecDescr_t) x) {
  x->each([&](std::int64_t, std::int64_t i, std::int64_t k) { SPARSE(Kinds)::set(x->values, x->kind, k, y->get(i)); });
  SPARSE_DONE;
}
SPARSE_DOES(Scatter)(SPARSE(Handle_t), SPARSE(ConstSpVecDescr_t) x, SPARSE(DnVecDescr_t) y) {
  x->each([&](std::int64_t, std::int64_t i, std::int64_t k) { y->set(i, 0, x->get(k)); });
  SPARSE_DONE;
}

// ---- conversions
#define SPARSE_S2D SPARSE(Handle_t), SPARSE(ConstSpMatDescr_t) a, SPARSE(DnMatDescr_t) b, SPARSE(SparseToDenseAlg_t)
SPARSE_DOES(SparseToDense_bufferSize)(SPARSE_S2D, std::size_t* bytes) SPARSE_ROOM
SPARSE_DOES(SparseToDense)(SPARSE_S2D, void*) {
  for (std::int64_t i = 0; i < b->rows; ++i)
    for (std::int64_t j = 0; j < b->columns; ++j) b->set(i, j, 0);
  a->each([&](std::int64_t i, std::int64_t j, std::int64_t k) { b->set(i, j, a->get(k)); });
  SPARSE_DONE;
}
#define SPARSE_D2S SPARSE(Handle_t), SPARSE(ConstDnMatDescr_t) a, SPARSE(SpMatDescr_t) b, SPARSE(DenseToSparseAlg_t)
SPARSE_DOES(DenseToSparse_bufferSize)(SPARSE_D2S, std::size_t* bytes) SPARSE_ROOM
// Calls f(row, column, place) for each element that is not zero, in the order of the sparse format,
// and notes where rows or columns begin.
template <typename F> void SPARSE(Elements)(const SPARSE(Dense)* a, SPARSE(Sparse)* b, F f) {
  const bool by_column = b->format == SPARSE_C(FORMAT_CSC), has_starts = b->format != SPARSE_C(FORMAT_COO);
  std::int64_t k = 0;
  for (std::int64_t i = 0; i < (by_column ? a->columns : a->rows); ++i) {
    if (has_starts) SPARSE(Kinds)::set_index(b->outer, b->outer_type, i, k + b->base);
    for (std::int64_t j = 0; j < (by_column ? a->rows : a->columns); ++j)
      if (by_column ? a->get(j, i) : a->get(i, j)) f(i, j, k++);
  }
  if (has_starts) SPARSE(Kinds)::set_index(b->outer, b->outer_type, by_column ? a->columns : a->rows, k + b->base);
  b->nnz = k;
}
SPARSE_DOES(DenseToSparse_analysis)(SPARSE_D2S, void*) {
  SPARSE(Elements)(a, b, [](std::int64_t, std::int64_t, std::int64_t) {});
  SPARSE_DONE;
}
SPARSE_DOES(DenseToSparse_convert)(SPARSE_D2S, void*) {
  const bool by_column = b->format == SPARSE_C(FORMAT_CSC);
  SPARSE(Elements)(a, b, [&](std::int64_t i, std::int64_t j, std::int64_t k) {
    if (b->format == SPARSE_C(FORMAT_COO)) SPARSE(Kinds)::set_index(b->outer, b->outer_type, k, i + b->base);
    SPARSE(Kinds)::set_index(b->inner, b->inner_type, k, j + b->base);
    SPARSE(Kinds)::set(b->values, b->kind, k, by_column ? a->get(j, i) : a->get(i, j));
  });
  SPARSE_DONE;
}
#define SPARSE_NNZ(P, T)                                                                                        \
  SPARSE_DOES(P##nnz)(SPARSE(Handle_t), SPARSE(Direction_t) direction, int m, int n, const SPARSE(MatDescr_t),  \
                      const T* dense, int ld, int* counts, int* total) {                                        \
    *total = 0;                                                                                                 \
    for (int i = 0; i < (direction == SPARSE_C(DIRECTION_ROW) ? m : n); ++i) counts[i] = 0;                     \
    for (int j = 0; j < n; ++j)                                                                                 \
      for (int i = 0; i < m; ++i)                                                                               \
        if (dense[1l * j * ld + i]) ++counts[direction == SPARSE_C(DIRECTION_ROW) ? i : j], ++*total;           \
    SPARSE_DONE;                                                                                                \
  }
SPARSE_NNZ(S, float)
SPARSE_NNZ(D, double)
#undef SPARSE_DOES
#undef SPARSE_DONE
#undef SPARSE_ROOM
#undef SPARSE_MM
#undef SPARSE_MV
#undef SPARSE_SDDMM
#undef SPARSE_SV
#undef SPARSE_S2D
#undef SPARSE_D2S
#undef SPARSE_NNZ
