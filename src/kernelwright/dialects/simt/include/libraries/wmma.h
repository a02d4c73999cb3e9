// Matrix tiles of nvcuda::wmma on 32 lanes, with shuffles and ordinary multiplications: no matrix
// cores, the same on waves of 32 and of 64. Element i of a fragment in lane l is number 32 i + l of
// its tile, row by row. Products are summed in the accumulator's type, half ones in float.
// Not covered: the sub-byte tiles of nvcuda::wmma::experimental, sums that saturate.
namespace port_nvcuda {
namespace wmma {
struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;
enum layout_t { mem_row_major, mem_col_major };
namespace precision { struct tf32; }
template <typename T> struct stored { using type = T; };
template <> struct stored<precision::tf32> { using type = float; };
template <typename T> struct wide { using type = float; };
template <> struct wide<int> { using type = int; };
template <> struct wide<signed char> { using type = int; };
template <> struct wide<unsigned char> { using type = int; };
template <> struct wide<double> { using type = double; };
template <typename A, typename B> struct is_same { static constexpr bool value = false; };
template <typename A> struct is_same<A, A> { static constexpr bool value = true; };
__device__ inline float __float_to_tf32(float v) {  // 10 bits of mantissa, ties away from zero
  union { float f; unsigned u; } bits{v};
  if ((bits.u & 0x7f800000u) != 0x7f800000u) bits.u = (bits.u + 0x1000u) & ~0x1fffu;
  return bits.f;
}

template <typename Use, int M, int N, int K, typename T, typename Layout = void> class fragment {
 public:
  using element_type = typename stored<T>::type;
  using storage_element_type = element_type;
  static constexpr int rows = is_same<Use, matrix_b>::value ? K : M;
  static constexpr int columns = is_same<Use, matrix_a>::value ? K : N;
  static constexpr int num_elements = rows * columns / 32;
  static constexpr int num_storage_elements = num_elements;
  element_type x[num_elements];
};

template <typename F, typename V> __device__ inline void fill_fragment(F& f, V value) {
  for (int i = 0; i < F::num_elements; ++i) f.x[i] = static_cast<typename F::element_type>(value);
}
template <typename F> __device__ inline unsigned offset(int i, unsigned step, bool by_columns) {
  const int number = 32 * i + static_cast<int>(__lane_id() & 31u);
  const unsigned row = number / F::columns, column = number % F::columns;
  return by_columns ? column * step + row : row * step + column;
}
template <typename Use, int M, int N, int K, typename T, typename Layout, typename V>
__device__ inline void load_matrix_sync(fragment<Use, M, N, K, T, Layout>& f, const V* from, unsigned step) {
  using F = fragment<Use, M, N, K, T, Layout>;
  for (int i = 0; i < F::num_elements; ++i)
    f.x[i] = from[offset<F>(i, step, is_same<Layout, col_major>::value)];
  __syncwarp();
}
template <int M, int N, int K, typename T, typename V>
__device__ inline void load_matrix_sync(fragment<accumulator, M, N, K, T>& f, const V* from, unsigned step, layout_t layout) {
  using F = fragment<accumulator, M, N, K, T>;
  for (int i = 0; i < F::num_elements; ++i) f.x[i] = from[offset<F>(i, step, layout == mem_col_major)];
  __syncwarp();
}
template <int M, int N, int K, typename T, typename V>
__device__ inline void store_matrix_sync(V* to, const fragment<accumulator, M, N, K, T>& f, unsigned step, layout_t layout) {
  using F = fragment<accumulator, M, N, K, T>;
  for (int i = 0; i < F::num_elements; ++i) to[offset<F>(i, step, layout == mem_col_major)] = f.x[i];
  __syncwarp();
}

// Element `number` of a tile, whichever lane holds it; `first` and `last` are the elements of a lane
// between which all lanes' numbers lie.
template <typename W, typename F> __device__ inline W element(const F& f, int number, int first, int last) {
  W value{};
  for (int i = first; i <= last; ++i) {
    const W there = __shfl(static_cast<W>(f.x[i]), number & 31, 32);
    if (number >> 5 == i) value = there;
  }
  return value;
}
template <int M, int N, int K, typename A, typename B, typename D, typename C, typename LA, typename LB>
__device__ inline void mma_sync(fragment<accumulator, M, N, K, D>& d, const fragment<matrix_a, M, N, K, A, LA>& a,
                                const fragment<matrix_b, M, N, K, B, LB>& b, const fragment<accumulator, M, N, K, C>& c) {
  using W = typename wide<C>::type;
  constexpr int count = M * N / 32;
  const int lane = static_cast<int>(__lane_id() & 31u);
  W sum[count];
  for (int i = 0; i < count; ++i) sum[i] = static_cast<W>(c.x[i]);
  for (int k = 0; k < K; ++k) {
    const W right = element<W>(b, k * N + lane % N, k * N / 32, (k * N + N - 1) / 32);
    for (int i = 0; i < count; ++i) {
      const int first = 32 * i / N, last = (32 * i + 31) / N;
      sum[i] += element<W>(a, (32 * i + lane) / N * K + k, (first * K + k) / 32, (last * K + k) / 32) * right;
    }
  }
  for (int i = 0; i < count; ++i) d.x[i] = static_cast<D>(sum[i]);
}
}  // namespace wmma
}  // namespace port_nvcuda
