// Dense linear algebra in plain loops, column by column: the functions of cuBLAS and hipBLAS that
// programs call most, with their arguments. BLAS(x) and BLAS_C(x) give a library's names.
// Not covered: complex numbers, triangular solvers, cublasLt; products with a kind for each matrix
// take real floating numbers and scalars of 32 or 64 bits; pointers to scalars on the device are read
// as any others.
enum BLAS(Status_t) : int { BLAS_C(STATUS_SUCCESS), BLAS_C(STATUS_NOT_INITIALIZED), BLAS_C(STATUS_ALLOC_FAILED), BLAS_C(STATUS_INVALID_VALUE), BLAS_C(STATUS_MAPPING_ERROR), BLAS_C(STATUS_EXECUTION_FAILED), BLAS_C(STATUS_INTERNAL_ERROR), BLAS_C(STATUS_NOT_SUPPORTED), BLAS_C(STATUS_ARCH_MISMATCH) };
enum BLAS(ComputeType_t) { BLAS_C(COMPUTE_16F), BLAS_C(COMPUTE_16F_PEDANTIC), BLAS_C(COMPUTE_32F), BLAS_C(COMPUTE_32F_PEDANTIC), BLAS_C(COMPUTE_32F_FAST_16F), BLAS_C(COMPUTE_32F_FAST_16BF), BLAS_C(COMPUTE_32F_FAST_TF32), BLAS_C(COMPUTE_64F), BLAS_C(COMPUTE_64F_PEDANTIC), BLAS_C(COMPUTE_32I), BLAS_C(COMPUTE_32I_PEDANTIC) };
enum BLAS(GemmAlgo_t) { BLAS_C(GEMM_DEFAULT) = -1 };
enum BLAS(Math_t) { BLAS_C(DEFAULT_MATH), BLAS_C(PEDANTIC_MATH), BLAS_C(TF32_TENSOR_OP_MATH), BLAS_C(TENSOR_OP_MATH), BLAS_C(MATH_DISALLOW_REDUCED_PRECISION_REDUCTION) };
enum BLAS(Operation_t) { BLAS_C(OP_N), BLAS_C(OP_T), BLAS_C(OP_C) };
enum BLAS(PointerMode_t) { BLAS_C(POINTER_MODE_HOST), BLAS_C(POINTER_MODE_DEVICE) };
enum BLAS(FillMode_t) { BLAS_C(FILL_MODE_UPPER) = 121, BLAS_C(FILL_MODE_LOWER), BLAS_C(FILL_MODE_FULL) };
enum BLAS(SideMode_t) { BLAS_C(SIDE_LEFT) = 141, BLAS_C(SIDE_RIGHT) };
enum BLAS(DiagType_t) { BLAS_C(DIAG_NON_UNIT) = 131, BLAS_C(DIAG_UNIT) };
struct BLAS(State) { int unused; };
using BLAS(Handle_t) = BLAS(State)*;
inline BLAS(Status_t) BLAS(Create)(BLAS(Handle_t)* h) { *h = new BLAS(State){}; return BLAS_C(STATUS_SUCCESS); }
inline BLAS(Status_t) BLAS(Destroy)(BLAS(Handle_t) h) { delete h; return BLAS_C(STATUS_SUCCESS); }
template <typename Stream> BLAS(Status_t) BLAS(SetStream)(BLAS(Handle_t), Stream) { return BLAS_C(STATUS_SUCCESS); }
inline BLAS(Status_t) BLAS(SetPointerMode)(BLAS(Handle_t), BLAS(PointerMode_t)) { return BLAS_C(STATUS_SUCCESS); }
inline BLAS(Status_t) BLAS(SetMathMode)(BLAS(Handle_t), BLAS(Math_t)) { return BLAS_C(STATUS_SUCCESS); }
inline BLAS(Status_t) BLAS(SetVector)(int n, int size, const void* x, int incx, void* y, int incy) {
  for (int i = 0; i < n; ++i)
    __builtin_memcpy(static_cast<char*>(y) + 1l * i * incy * size, static_cast<const char*>(x) + 1l * i * incx * size, size);
  return BLAS_C(STATUS_SUCCESS);
}
inline BLAS(Status_t) BLAS(GetVector)(int n, int size, const void* x, int incx, void* y, int incy) { return BLAS(SetVector)(n, size, x, incx, y, incy); }
inline BLAS(Status_t) BLAS(SetMatrix)(int rows, int columns, int size, const void* a, int lda, void* b, int ldb) {
  for (int j = 0; j < columns; ++j)
    __builtin_memcpy(static_cast<char*>(b) + 1l * j * ldb * size, static_cast<const char*>(a) + 1l * j * lda * size, 1l * rows * size);
  return BLAS_C(STATUS_SUCCESS);
}
inline BLAS(Status_t) BLAS(GetMatrix)(int rows, int columns, int size, const void* a, int lda, void* b, int ldb) { return BLAS(SetMatrix)(rows, columns, size, a, lda, b, ldb); }

#define BLAS_FUNCTIONS(P, p, T)                                                                      \
  inline BLAS(Status_t) BLAS(P##axpy)(BLAS(Handle_t), int n, const T* alpha, const T* x, int incx, T* y, int incy) { \
    for (int i = 0; i < n; ++i) y[1l * i * incy] += *alpha * x[1l * i * incx];                      \
    return BLAS_C(STATUS_SUCCESS);                                                                  \
  }                                                                                                 \
  inline BLAS(Status_t) BLAS(P##scal)(BLAS(Handle_t), int n, const T* alpha, T* x, int incx) {      \
    for (int i = 0; i < n; ++i) x[1l * i * incx] *= *alpha;                                         \
    return BLAS_C(STATUS_SUCCESS);                                                                  \
  }                                                                                                 \
  inline BLAS(Status_t) BLAS(P##copy)(BLAS(Handle_t), int n, const T* x, int incx, T* y, int incy) { \
    for (int i = 0; i < n; ++i) y[1l * i * incy] = x[1l * i * incx];                                \
    return BLAS_C(STATUS_SUCCESS);                                                                  \
  }                                                                                                 \
  inline BLAS(Status_t) BLAS(P##dot)(BLAS(Handle_t), int n, const T* x, int incx, const T* y, int incy, T* out) { \
    double sum = 0;                                                                                 \
    for (int i = 0; i < n; ++i) sum += static_cast<double>(x[1l * i * incx]) * y[1l * i * incy];    \
    *out = static_cast<T>(sum);                                                                     \
    return BLAS_C(STATUS_SUCCESS);                                                                  \
  }                                                                                                 \
  inline BLAS(Status_t) BLAS(P##nrm2)(BLAS(Handle_t) h, int n, const T* x, int incx, T* out) {      \
    BLAS(P##dot)(h, n, x, incx, x, incx, out);                                                      \
    *out = static_cast<T>(__builtin_sqrt(*out));                                                    \
    return BLAS_C(STATUS_SUCCESS);                                                                  \
  }                                                                                                 \
  inline BLAS(Status_t) BLAS(P##asum)(BLAS(Handle_t), int n, const T* x, int incx, T* out) {        \
    double sum = 0;                                                                                 \
    for (int i = 0; i < n; ++i) sum += __builtin_fabs(x[1l * i * incx]);                            \
    *out = static_cast<T>(sum);                                                                     \
    return BLAS_C(STATUS_SUCCESS);                                                                  \
  }                                                                                                 \
  inline BLAS(Status_t) BLAS(I##p##amax)(BLAS(Handle_t), int n, const T* x, int incx, int* out) {   \
    *out = n > 0;                                                                                   \
    for (int i = 1; i < n; ++i)                                                                     \
      if (__builtin_fabs(x[1l * i * incx]) > __builtin_fabs(x[1l * (*out - 1) * incx])) *out = i + 1; \
    return BLAS_C(STATUS_SUCCESS);                                                                  \
  }                                                                                                 \
  inline BLAS(Status_t) BLAS(P##gemm)(BLAS(Handle_t), BLAS(Operation_t) ta, BLAS(Operation_t) tb, int m, int n, int k, \
      const T* alpha, const T* a, int lda, const T* b, int ldb, const T* beta, T* c, int ldc) {     \
    for (int j = 0; j < n; ++j)                                                                     \
      for (int i = 0; i < m; ++i) {                                                                 \
        double sum = 0;                                                                             \
        for (int l = 0; l < k; ++l)                                                                 \
          sum += static_cast<double>(ta == BLAS_C(OP_N) ? a[i + 1l * l * lda] : a[l + 1l * i * lda]) * \
                 (tb == BLAS_C(OP_N) ? b[l + 1l * j * ldb] : b[j + 1l * l * ldb]);                  \
        T& at = c[i + 1l * j * ldc];                                                                \
        at = static_cast<T>(*alpha * sum + (*beta == 0 ? 0.0 : 1.0 * *beta * at));                  \
      }                                                                                             \
    return BLAS_C(STATUS_SUCCESS);                                                                  \
  }                                                                                                 \
  inline BLAS(Status_t) BLAS(P##gemv)(BLAS(Handle_t), BLAS(Operation_t) t, int m, int n, const T* alpha, const T* a, int lda, \
      const T* x, int incx, const T* beta, T* y, int incy) {                                        \
    const int rows = t == BLAS_C(OP_N) ? m : n, columns = t == BLAS_C(OP_N) ? n : m;                \
    for (int i = 0; i < rows; ++i) {                                                                \
      double sum = 0;                                                                               \
      for (int l = 0; l < columns; ++l)                                                             \
        sum += static_cast<double>(t == BLAS_C(OP_N) ? a[i + 1l * l * lda] : a[l + 1l * i * lda]) * x[1l * l * incx]; \
      T& at = y[1l * i * incy];                                                                     \
      at = static_cast<T>(*alpha * sum + (*beta == 0 ? 0.0 : 1.0 * *beta * at));                    \
    }                                                                                               \
    return BLAS_C(STATUS_SUCCESS);                                                                  \
  }                                                                                                 \
  inline BLAS(Status_t) BLAS(P##gemmStridedBatched)(BLAS(Handle_t) h, BLAS(Operation_t) ta, BLAS(Operation_t) tb, int m, int n, int k, \
      const T* alpha, const T* a, int lda, long long sa, const T* b, int ldb, long long sb, const T* beta, T* c, int ldc, long long sc, int batches) { \
    for (int i = 0; i < batches; ++i)                                                               \
      BLAS(P##gemm)(h, ta, tb, m, n, k, alpha, a + i * sa, lda, b + i * sb, ldb, beta, c + i * sc, ldc); \
    return BLAS_C(STATUS_SUCCESS);                                                                  \
  }
BLAS_FUNCTIONS(S, s, float)
BLAS_FUNCTIONS(D, d, double)
#undef BLAS_FUNCTIONS

// Products of matrices of any kind, by BLAS_KIND (cudaDataType_t or hipDataType).
inline double BLAS(AtKind)(const void* p, BLAS_KIND kind, long i) {
  if (kind == BLAS_KINDS(R_64F)) return static_cast<const double*>(p)[i];
  if (kind == BLAS_KINDS(R_16F)) return static_cast<float>(static_cast<const _Float16*>(p)[i]);
  if (kind != BLAS_KINDS(R_16BF)) return static_cast<const float*>(p)[i];
  const unsigned bits = static_cast<unsigned>(static_cast<const unsigned short*>(p)[i]) << 16;
  return __builtin_bit_cast(float, bits);
}
inline void BLAS(ToKind)(void* p, BLAS_KIND kind, long i, double value) {
  if (kind == BLAS_KINDS(R_64F)) static_cast<double*>(p)[i] = value;
  else if (kind == BLAS_KINDS(R_16F)) static_cast<_Float16*>(p)[i] = static_cast<_Float16>(value);
  else if (kind != BLAS_KINDS(R_16BF)) static_cast<float*>(p)[i] = static_cast<float>(value);
  else {
    const unsigned bits = __builtin_bit_cast(unsigned, static_cast<float>(value));
    static_cast<unsigned short*>(p)[i] = static_cast<unsigned short>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
  }
}
inline BLAS(Status_t) BLAS(GemmStridedBatchedEx)(BLAS(Handle_t), BLAS(Operation_t) ta, BLAS(Operation_t) tb, int m, int n, int k,
    const void* alpha, const void* a, BLAS_KIND ka, int lda, long long sa, const void* b, BLAS_KIND kb, int ldb, long long sb,
    const void* beta, void* c, BLAS_KIND kc, int ldc, long long sc, int batches, BLAS(ComputeType_t) compute, BLAS(GemmAlgo_t)) {
  const bool is_double = compute == BLAS_C(COMPUTE_64F) || compute == BLAS_C(COMPUTE_64F_PEDANTIC);
  if (compute < BLAS_C(COMPUTE_32F) || compute > BLAS_C(COMPUTE_64F_PEDANTIC)) return BLAS_C(STATUS_NOT_SUPPORTED);
  const BLAS_KIND kinds[] = {ka, kb, kc};
  for (BLAS_KIND kind : kinds)
    if (kind != BLAS_KINDS(R_16F) && kind != BLAS_KINDS(R_16BF) && kind != BLAS_KINDS(R_32F) && kind != BLAS_KINDS(R_64F))
      return BLAS_C(STATUS_NOT_SUPPORTED);
  const double x = is_double ? *static_cast<const double*>(alpha) : *static_cast<const float*>(alpha);
  const double y = is_double ? *static_cast<const double*>(beta) : *static_cast<const float*>(beta);
  for (long batch = 0; batch < batches; ++batch)
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < m; ++i) {
        double sum = 0;
        for (int l = 0; l < k; ++l)
          sum += BLAS(AtKind)(a, ka, batch * sa + (ta == BLAS_C(OP_N) ? i + 1l * l * lda : l + 1l * i * lda)) *
                 BLAS(AtKind)(b, kb, batch * sb + (tb == BLAS_C(OP_N) ? l + 1l * j * ldb : j + 1l * l * ldb));
        const long at = batch * sc + i + 1l * j * ldc;
        BLAS(ToKind)(c, kc, at, x * sum + (y == 0 ? 0.0 : y * BLAS(AtKind)(c, kc, at)));
      }
  return BLAS_C(STATUS_SUCCESS);
}
inline BLAS(Status_t) BLAS(GemmEx)(BLAS(Handle_t) h, BLAS(Operation_t) ta, BLAS(Operation_t) tb, int m, int n, int k, const void* alpha,
    const void* a, BLAS_KIND ka, int lda, const void* b, BLAS_KIND kb, int ldb, const void* beta, void* c, BLAS_KIND kc, int ldc,
    BLAS(ComputeType_t) compute, BLAS(GemmAlgo_t) how) {
  return BLAS(GemmStridedBatchedEx)(h, ta, tb, m, n, k, alpha, a, ka, lda, 0, b, kb, ldb, 0, beta, c, kc, ldc, 0, 1, compute, how);
}

// Products of half precision, summed in float.
inline BLAS(Status_t) BLAS(HgemmStridedBatched)(BLAS(Handle_t), BLAS(Operation_t) ta, BLAS(Operation_t) tb, int m, int n, int k,
    const __half* alpha, const __half* a, int lda, long long sa, const __half* b, int ldb, long long sb, const __half* beta, __half* c, int ldc, long long sc, int batches) {
  for (long batch = 0; batch < batches; ++batch)
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < m; ++i) {
        float sum = 0;
        for (int l = 0; l < k; ++l)
          sum += static_cast<float>(a[batch * sa + (ta == BLAS_C(OP_N) ? i + 1l * l * lda : l + 1l * i * lda)]) *
                 static_cast<float>(b[batch * sb + (tb == BLAS_C(OP_N) ? l + 1l * j * ldb : j + 1l * l * ldb)]);
        __half& at = c[batch * sc + i + 1l * j * ldc];
        const float x = *alpha, y = *beta;
        at = __half(x * sum + (y == 0 ? 0.0f : y * static_cast<float>(at)));
      }
  return BLAS_C(STATUS_SUCCESS);
}
inline BLAS(Status_t) BLAS(Hgemm)(BLAS(Handle_t) h, BLAS(Operation_t) ta, BLAS(Operation_t) tb, int m, int n, int k,
    const __half* alpha, const __half* a, int lda, const __half* b, int ldb, const __half* beta, __half* c, int ldc) {
  return BLAS(HgemmStridedBatched)(h, ta, tb, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c, ldc, 0, 1);
}
inline BLAS(Status_t) BLAS(HgemmBatched)(BLAS(Handle_t) h, BLAS(Operation_t) ta, BLAS(Operation_t) tb, int m, int n, int k,
    const __half* alpha, const __half* const a[], int lda, const __half* const b[], int ldb, const __half* beta, __half* const c[], int ldc, int count) {
  for (int i = 0; i < count; ++i) BLAS(Hgemm)(h, ta, tb, m, n, k, alpha, a[i], lda, b[i], ldb, beta, c[i], ldc);
  return BLAS_C(STATUS_SUCCESS);
}

// Vectors of any kind; sums are rounded once, at the end.
inline BLAS(Status_t) BLAS(DotEx)(BLAS(Handle_t), int n, const void* x, BLAS_KIND kx, int incx, const void* y, BLAS_KIND ky, int incy, void* out, BLAS_KIND kind, BLAS_KIND) {
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += BLAS(AtKind)(x, kx, 1l * i * incx) * BLAS(AtKind)(y, ky, 1l * i * incy);
  BLAS(ToKind)(out, kind, 0, sum);
  return BLAS_C(STATUS_SUCCESS);
}
inline BLAS(Status_t) BLAS(Nrm2Ex)(BLAS(Handle_t) h, int n, const void* x, BLAS_KIND kx, int incx, void* out, BLAS_KIND kind, BLAS_KIND compute) {
  BLAS(DotEx)(h, n, x, kx, incx, x, kx, incx, out, kind, compute);
  BLAS(ToKind)(out, kind, 0, __builtin_sqrt(BLAS(AtKind)(out, kind, 0)));
  return BLAS_C(STATUS_SUCCESS);
}
inline BLAS(Status_t) BLAS(AxpyEx)(BLAS(Handle_t), int n, const void* alpha, BLAS_KIND ka, const void* x, BLAS_KIND kx, int incx, void* y, BLAS_KIND ky, int incy, BLAS_KIND) {
  for (int i = 0; i < n; ++i) {
    const double sum = BLAS(AtKind)(alpha, ka, 0) * BLAS(AtKind)(x, kx, 1l * i * incx) + BLAS(AtKind)(y, ky, 1l * i * incy);
    BLAS(ToKind)(y, ky, 1l * i * incy, sum);
  }
  return BLAS_C(STATUS_SUCCESS);
}
inline BLAS(Status_t) BLAS(ScalEx)(BLAS(Handle_t), int n, const void* alpha, BLAS_KIND ka, void* x, BLAS_KIND kx, int incx, BLAS_KIND) {
  for (int i = 0; i < n; ++i) BLAS(ToKind)(x, kx, 1l * i * incx, BLAS(AtKind)(alpha, ka, 0) * BLAS(AtKind)(x, kx, 1l * i * incx));
  return BLAS_C(STATUS_SUCCESS);
}
