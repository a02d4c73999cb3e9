// Dense linear algebra in plain loops, column by column: the functions of cuBLAS and hipBLAS that
// programs call most, with their arguments. BLAS(x) and BLAS_C(x) give a library's names.
// Not covered: complex and half numbers, triangular solvers, cublasLt, pointers to scalars on the
// device are read as any others.
enum BLAS(Status_t) { BLAS_C(STATUS_SUCCESS), BLAS_C(STATUS_NOT_INITIALIZED), BLAS_C(STATUS_ALLOC_FAILED), BLAS_C(STATUS_INVALID_VALUE), BLAS_C(STATUS_EXECUTION_FAILED) };
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
