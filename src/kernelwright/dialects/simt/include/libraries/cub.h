// The parts of CUB and hipCUB that programs call most, in plain loops; the namespace is the
// includer's. Not covered: histograms of ranges and of several channels, sorts by parts of the bits,
// exchanges within a block, scans that carry a prefix from block to block.
struct Sum { template <typename T> __host__ __device__ T operator()(T a, T b) const { return a + b; } };
struct Max { template <typename T> __host__ __device__ T operator()(T a, T b) const { return a > b ? a : b; } };
struct Min { template <typename T> __host__ __device__ T operator()(T a, T b) const { return a < b ? a : b; } };
enum BlockReduceAlgorithm { BLOCK_REDUCE_RAKING, BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY, BLOCK_REDUCE_WARP_REDUCTIONS };
enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };

__device__ inline int linear_thread() {
  return static_cast<int>((threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x);
}

template <typename T, int X, BlockReduceAlgorithm = BLOCK_REDUCE_WARP_REDUCTIONS, int Y = 1, int Z = 1>
class BlockReduce {
 public:
  struct TempStorage { T values[X * Y * Z]; };
  __device__ explicit BlockReduce(TempStorage& room) : room_(room) {}
  template <typename F> __device__ T Reduce(T value, F f, int valid = X * Y * Z) {
    room_.values[linear_thread()] = value;
    __syncthreads();
    if (linear_thread() != 0) return value;
    for (int i = 1; i < valid; ++i) value = f(value, room_.values[i]);
    return value;
  }
  __device__ T Sum(T value, int valid = X * Y * Z) { return Reduce(value, Plus(), valid); }
  template <int N> __device__ T Sum(T (&values)[N]) {
    T own = values[0];
    for (int i = 1; i < N; ++i) own += values[i];
    return Sum(own);
  }

 private:
  struct Plus { __device__ T operator()(T a, T b) const { return a + b; } };
  TempStorage& room_;
};

template <typename T, int X, BlockScanAlgorithm = BLOCK_SCAN_RAKING, int Y = 1, int Z = 1>
class BlockScan {
 public:
  struct TempStorage { T values[X * Y * Z]; };
  __device__ explicit BlockScan(TempStorage& room) : room_(room) {}
  __device__ void InclusiveSum(T in, T& out) { T all; scan(in, out, all, Plus(), T(), true); }
  __device__ void ExclusiveSum(T in, T& out) { T all; scan(in, out, all, Plus(), T(), false); }
  __device__ void InclusiveSum(T in, T& out, T& all) { scan(in, out, all, Plus(), T(), true); }
  __device__ void ExclusiveSum(T in, T& out, T& all) { scan(in, out, all, Plus(), T(), false); }
  template <typename F> __device__ void InclusiveScan(T in, T& out, F f) { T all; inclusive(in, out, all, f); }
  template <typename F> __device__ void InclusiveScan(T in, T& out, F f, T& all) { inclusive(in, out, all, f); }
  template <typename F> __device__ void ExclusiveScan(T in, T& out, T first, F f) { T all; scan(in, out, all, f, first, false); }
  template <typename F> __device__ void ExclusiveScan(T in, T& out, T first, F f, T& all) { scan(in, out, all, f, first, false); }
  template <int N> __device__ void InclusiveSum(T (&in)[N], T (&out)[N]) { T all; several(in, out, all, Plus(), T(), true); }
  template <int N> __device__ void InclusiveSum(T (&in)[N], T (&out)[N], T& all) { several(in, out, all, Plus(), T(), true); }
  template <int N> __device__ void ExclusiveSum(T (&in)[N], T (&out)[N]) { T all; several(in, out, all, Plus(), T(), false); }
  template <int N> __device__ void ExclusiveSum(T (&in)[N], T (&out)[N], T& all) { several(in, out, all, Plus(), T(), false); }
  template <int N, typename F> __device__ void InclusiveScan(T (&in)[N], T (&out)[N], F f) { T all; inclusive(in, out, all, f); }
  template <int N, typename F> __device__ void InclusiveScan(T (&in)[N], T (&out)[N], F f, T& all) { inclusive(in, out, all, f); }
  template <int N, typename F> __device__ void ExclusiveScan(T (&in)[N], T (&out)[N], T first, F f) { T all; several(in, out, all, f, first, false); }
  template <int N, typename F> __device__ void ExclusiveScan(T (&in)[N], T (&out)[N], T first, F f, T& all) { several(in, out, all, f, first, false); }

 private:
  struct Plus { __device__ T operator()(T a, T b) const { return a + b; } };
  // The total is that of all values, without the first one given.
  template <typename F> __device__ void scan(T in, T& out, T& all, F f, T first, bool with_own) {
    room_.values[linear_thread()] = in;
    __syncthreads();
    out = first, all = room_.values[0];
    for (int i = 0; i < X * Y * Z; ++i) {
      if (i < linear_thread() + with_own) out = f(out, room_.values[i]);
      if (i > 0) all = f(all, room_.values[i]);
    }
  }
  template <typename F> __device__ void inclusive(T in, T& out, T& all, F f) {
    room_.values[linear_thread()] = in;
    __syncthreads();
    out = all = room_.values[0];
    for (int i = 1; i < X * Y * Z; ++i) {
      if (i <= linear_thread()) out = f(out, room_.values[i]);
      all = f(all, room_.values[i]);
    }
  }
  template <int N, typename F> __device__ void inclusive(T (&in)[N], T (&out)[N], T& all, F f) {
    T own = in[0];
    for (int i = 1; i < N; ++i) own = f(own, in[i]);
    inclusive(own, own, all, f);
    T before = room_.values[0];
    for (int i = 1; i < linear_thread(); ++i) before = f(before, room_.values[i]);
    for (int i = 0; i < N; ++i) {
      const T value = in[i];
      before = i || linear_thread() ? f(before, value) : value;
      out[i] = before;
    }
  }
  template <int N, typename F> __device__ void several(T (&in)[N], T (&out)[N], T& all, F f, T first, bool with_own) {
    T own = in[0], before;
    for (int i = 1; i < N; ++i) own = f(own, in[i]);
    scan(own, before, all, f, first, false);
    for (int i = 0; i < N; ++i) {
      const T value = in[i], after = f(before, value);
      out[i] = with_own ? after : before;
      before = after;
    }
  }
  TempStorage& room_;
};

// Keys in the order of threads, several to each; equal keys keep their order.
struct NullType {};
template <typename K, int X, int N, typename V = NullType>
class BlockRadixSort {
 public:
  struct TempStorage { K keys[X * N]; V values[X * N]; };
  __device__ explicit BlockRadixSort(TempStorage& room) : room_(room) {}
  __device__ void Sort(K (&keys)[N]) { V none[N]; sort(keys, none, false, false); }
  __device__ void SortDescending(K (&keys)[N]) { V none[N]; sort(keys, none, true, false); }
  __device__ void Sort(K (&keys)[N], V (&values)[N]) { sort(keys, values, false, false); }
  __device__ void SortDescending(K (&keys)[N], V (&values)[N]) { sort(keys, values, true, false); }
  __device__ void SortBlockedToStriped(K (&keys)[N]) { V none[N]; sort(keys, none, false, true); }
  __device__ void SortBlockedToStriped(K (&keys)[N], V (&values)[N]) { sort(keys, values, false, true); }

 private:
  __device__ void sort(K (&keys)[N], V (&values)[N], bool is_descending, bool is_striped) {
    for (int i = 0; i < N; ++i) room_.keys[linear_thread() * N + i] = keys[i], room_.values[linear_thread() * N + i] = values[i];
    __syncthreads();
    int places[N];
    for (int i = 0; i < N; ++i) {  // a key's place is the number of keys before it
      const int own = linear_thread() * N + i;
      places[i] = 0;
      for (int j = 0; j < X * N; ++j) {
        const K other = room_.keys[j];
        const bool is_before = is_descending ? keys[i] < other : other < keys[i];
        const bool is_same = !(keys[i] < other) && !(other < keys[i]);
        places[i] += is_before || (is_same && j < own);
      }
    }
    __syncthreads();
    for (int i = 0; i < N; ++i) room_.keys[places[i]] = keys[i], room_.values[places[i]] = values[i];
    __syncthreads();
    for (int i = 0; i < N; ++i) {
      const int at = is_striped ? linear_thread() + i * X : linear_thread() * N + i;
      keys[i] = room_.keys[at], values[i] = room_.values[at];
    }
    __syncthreads();
  }
  TempStorage& room_;
};

enum BlockLoadAlgorithm { BLOCK_LOAD_DIRECT, BLOCK_LOAD_STRIPED, BLOCK_LOAD_VECTORIZE, BLOCK_LOAD_TRANSPOSE, BLOCK_LOAD_WARP_TRANSPOSE, BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED };
enum BlockStoreAlgorithm { BLOCK_STORE_DIRECT, BLOCK_STORE_STRIPED, BLOCK_STORE_VECTORIZE, BLOCK_STORE_TRANSPOSE, BLOCK_STORE_WARP_TRANSPOSE, BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED };
template <typename T, int X, int N, BlockLoadAlgorithm A = BLOCK_LOAD_DIRECT, int Y = 1, int Z = 1>
class BlockLoad {
 public:
  struct TempStorage {};
  __device__ BlockLoad() = default;
  __device__ explicit BlockLoad(TempStorage&) {}
  template <typename I> __device__ void Load(I from, T (&to)[N]) { Load(from, to, X * Y * Z * N); }
  template <typename I> __device__ void Load(I from, T (&to)[N], int valid) {
    for (int i = 0; i < N; ++i)
      if (at(i) < valid) to[i] = from[at(i)];
  }
  template <typename I, typename D> __device__ void Load(I from, T (&to)[N], int valid, D other) {
    for (int i = 0; i < N; ++i) to[i] = at(i) < valid ? from[at(i)] : static_cast<T>(other);
  }

 private:
  __device__ static int at(int i) { return A == BLOCK_LOAD_STRIPED ? linear_thread() + i * X * Y * Z : linear_thread() * N + i; }
};
template <typename T, int X, int N, BlockStoreAlgorithm A = BLOCK_STORE_DIRECT, int Y = 1, int Z = 1>
class BlockStore {
 public:
  struct TempStorage {};
  __device__ BlockStore() = default;
  __device__ explicit BlockStore(TempStorage&) {}
  template <typename O> __device__ void Store(O to, T (&from)[N]) { Store(to, from, X * Y * Z * N); }
  template <typename O> __device__ void Store(O to, T (&from)[N], int valid) {
    for (int i = 0; i < N; ++i) {
      const int at = A == BLOCK_STORE_STRIPED ? linear_thread() + i * X * Y * Z : linear_thread() * N + i;
      if (at < valid) to[at] = from[i];
    }
  }
};

template <typename T, int W = 32>
class WarpReduce {
 public:
  struct TempStorage {};
  __device__ explicit WarpReduce(TempStorage&) {}
  template <typename F> __device__ T Reduce(T value, F f) {
    for (int step = W / 2; step > 0; step /= 2) value = f(value, __shfl_down(value, step, W));
    return value;
  }
  template <typename F> __device__ T Reduce(T value, F f, int valid) {
    for (int step = W / 2; step > 0; step /= 2) {
      const T other = __shfl_down(value, step, W);
      if (linear_thread() % W + step < valid) value = f(value, other);
    }
    return value;
  }
  __device__ T Sum(T value) { return Reduce(value, Plus()); }
  __device__ T Sum(T value, int valid) { return Reduce(value, Plus(), valid); }

 private:
  struct Plus { __device__ T operator()(T a, T b) const { return a + b; } };
};

template <typename T, int W = 32>
class WarpScan {
 public:
  struct TempStorage {};
  __device__ explicit WarpScan(TempStorage&) {}
  template <typename F> __device__ void InclusiveScan(T in, T& out, F f) {
    out = in;
    for (int step = 1; step < W; step *= 2) {
      const T before = __shfl_up(out, step, W);
      if (linear_thread() % W >= step) out = f(before, out);
    }
  }
  template <typename F> __device__ void ExclusiveScan(T in, T& out, T first, F f) {
    InclusiveScan(in, out, f);
    const T before = __shfl_up(out, 1, W);
    out = linear_thread() % W ? f(first, before) : first;
  }
  __device__ void InclusiveSum(T in, T& out) { InclusiveScan(in, out, Plus()); }
  __device__ void ExclusiveSum(T in, T& out) { ExclusiveScan(in, out, T(), Plus()); }
  __device__ void InclusiveSum(T in, T& out, T& all) { InclusiveSum(in, out), all = __shfl(out, W - 1, W); }
  __device__ void ExclusiveSum(T in, T& out, T& all) { InclusiveSum(in, out, all), out -= in; }

 private:
  struct Plus { __device__ T operator()(T a, T b) const { return a + b; } };
};

// ---- iterators
template <typename T, typename D = std::ptrdiff_t>
struct CountingInputIterator {
  using value_type = T; using difference_type = D; using pointer = T*; using reference = T;
  using iterator_category = std::random_access_iterator_tag;
  T first;
  __host__ __device__ explicit CountingInputIterator(T v) : first(v) {}
  __host__ __device__ T operator*() const { return first; }
  __host__ __device__ T operator[](D i) const { return first + static_cast<T>(i); }
  __host__ __device__ CountingInputIterator operator+(D i) const { return CountingInputIterator(first + static_cast<T>(i)); }
};
template <typename T, typename D = std::ptrdiff_t>
struct ConstantInputIterator {
  using value_type = T; using difference_type = D; using pointer = T*; using reference = T;
  using iterator_category = std::random_access_iterator_tag;
  T value;
  __host__ __device__ explicit ConstantInputIterator(T v, D = 0) : value(v) {}
  __host__ __device__ T operator*() const { return value; }
  __host__ __device__ T operator[](D) const { return value; }
  __host__ __device__ ConstantInputIterator operator+(D) const { return *this; }
};
template <typename T, typename F, typename I, typename D = std::ptrdiff_t>
struct TransformInputIterator {
  using value_type = T; using difference_type = D; using pointer = T*; using reference = T;
  using iterator_category = std::random_access_iterator_tag;
  I from;
  F f;
  __host__ __device__ TransformInputIterator(I i, F g) : from(i), f(g) {}
  __host__ __device__ T operator*() const { return f(from[0]); }
  __host__ __device__ T operator[](D i) const { return f(from[i]); }
  __host__ __device__ TransformInputIterator operator+(D i) const { return TransformInputIterator(from + i, f); }
};
template <typename K, typename V> struct KeyValuePair {
  using Key = K; using Value = V;
  K key;
  V value;
};
struct ArgMax { template <typename P> __host__ __device__ P operator()(P a, P b) const { return b.value > a.value || (b.value == a.value && b.key < a.key) ? b : a; } };
struct ArgMin { template <typename P> __host__ __device__ P operator()(P a, P b) const { return b.value < a.value || (b.value == a.value && b.key < a.key) ? b : a; } };
struct Equality { template <typename T> __host__ __device__ bool operator()(T a, T b) const { return a == b; } };
template <typename T> struct DoubleBuffer {
  T* d_buffers[2] = {};
  int selector = 0;
  DoubleBuffer() = default;
  DoubleBuffer(T* current, T* other) : d_buffers{current, other} {}
  T* Current() { return d_buffers[selector]; }
  T* Alternate() { return d_buffers[selector ^ 1]; }
};

// Functions of the whole device: asked first for the size of the memory that they want, then run.
#define CUB_ASKS(room, bytes) \
  if ((room) == nullptr) { (bytes) = 1; return CUB_SUCCESS; }
#define CUB_FUNCTION static CUB_ERROR
template <typename I> using ItemOf = std::decay_t<decltype(std::declval<I>()[0])>;
struct DeviceReduce {
  template <typename I, typename O, typename F, typename T> CUB_FUNCTION Reduce(void* room, std::size_t& bytes, I in, O out, long long n, F f, T first, CUB_STREAM = 0) {
    CUB_ASKS(room, bytes)
    T all = first;
    for (long long i = 0; i < n; ++i) all = f(all, in[i]);
    *out = all;
    return CUB_SUCCESS;
  }
  template <typename I, typename O> CUB_FUNCTION Sum(void* room, std::size_t& bytes, I in, O out, long long n, CUB_STREAM s = 0) {
    return Reduce(room, bytes, in, out, n, cub_sum(), ItemOf<I>(), s);
  }
  template <typename I, typename O> CUB_FUNCTION Max(void* room, std::size_t& bytes, I in, O out, long long n, CUB_STREAM s = 0) {
    return room ? Reduce(room, bytes, in + 1, out, n - 1, cub_max(), in[0], s) : Sum(room, bytes, in, out, n, s);
  }
  template <typename I, typename O> CUB_FUNCTION Min(void* room, std::size_t& bytes, I in, O out, long long n, CUB_STREAM s = 0) {
    return room ? Reduce(room, bytes, in + 1, out, n - 1, cub_min(), in[0], s) : Sum(room, bytes, in, out, n, s);
  }
  template <typename I, typename O> CUB_FUNCTION ArgMax(void* room, std::size_t& bytes, I in, O out, long long n, CUB_STREAM = 0) { return best(room, bytes, in, out, n, [](const auto& a, const auto& b) { return a > b; }); }
  template <typename I, typename O> CUB_FUNCTION ArgMin(void* room, std::size_t& bytes, I in, O out, long long n, CUB_STREAM = 0) { return best(room, bytes, in, out, n, [](const auto& a, const auto& b) { return a < b; }); }
  template <typename K, typename U, typename V, typename A, typename C, typename F> CUB_FUNCTION ReduceByKey(void* room, std::size_t& bytes, K keys, U unique, V values, A sums, C count, F f, long long n, CUB_STREAM = 0) {
    CUB_ASKS(room, bytes)
    long long at = -1;
    for (long long i = 0; i < n; ++i) {
      if (i == 0 || !(keys[i] == keys[i - 1])) unique[++at] = keys[i], sums[at] = values[i];
      else sums[at] = f(sums[at], values[i]);
    }
    *count = static_cast<std::decay_t<decltype(*count)>>(at + 1);
    return CUB_SUCCESS;
  }

 private:
  struct cub_sum { template <typename T> T operator()(T a, T b) const { return a + b; } };
  struct cub_max { template <typename T> T operator()(T a, T b) const { return a > b ? a : b; } };
  struct cub_min { template <typename T> T operator()(T a, T b) const { return a < b ? a : b; } };
  template <typename I, typename O, typename F> CUB_FUNCTION best(void* room, std::size_t& bytes, I in, O out, long long n, F is_better) {
    CUB_ASKS(room, bytes)
    long long found = 0;
    for (long long i = 1; i < n; ++i)
      if (is_better(in[i], in[found])) found = i;
    out->key = static_cast<decltype(out->key)>(found), out->value = in[found];
    return CUB_SUCCESS;
  }
};
struct DeviceScan {
  template <typename I, typename O, typename F> CUB_FUNCTION InclusiveScan(void* room, std::size_t& bytes, I in, O out, F f, long long n, CUB_STREAM = 0) {
    CUB_ASKS(room, bytes)
    if (n <= 0) return CUB_SUCCESS;
    auto all = in[0];
    out[0] = all;
    for (long long i = 1; i < n; ++i) out[i] = all = f(all, in[i]);
    return CUB_SUCCESS;
  }
  template <typename I, typename O, typename F, typename T> CUB_FUNCTION ExclusiveScan(void* room, std::size_t& bytes, I in, O out, F f, T first, long long n, CUB_STREAM = 0) {
    CUB_ASKS(room, bytes)
    T all = first;
    for (long long i = 0; i < n; ++i) {
      const T next = f(all, in[i]);  // the two may be the same memory
      out[i] = all, all = next;
    }
    return CUB_SUCCESS;
  }
  template <typename I, typename O> CUB_FUNCTION InclusiveSum(void* room, std::size_t& bytes, I in, O out, long long n, CUB_STREAM s = 0) { return InclusiveScan(room, bytes, in, out, [](auto a, auto b) { return a + b; }, n, s); }
  template <typename I, typename O> CUB_FUNCTION ExclusiveSum(void* room, std::size_t& bytes, I in, O out, long long n, CUB_STREAM s = 0) { return ExclusiveScan(room, bytes, in, out, [](auto a, auto b) { return a + b; }, ItemOf<I>(), n, s); }
};
struct DeviceSelect {
  template <typename I, typename O, typename C, typename F> CUB_FUNCTION If(void* room, std::size_t& bytes, I in, O out, C count, long long n, F f, CUB_STREAM = 0) {
    return kept(room, bytes, in, out, count, n, [&](long long i) { return f(in[i]); });
  }
  template <typename I, typename G, typename O, typename C> CUB_FUNCTION Flagged(void* room, std::size_t& bytes, I in, G flags, O out, C count, long long n, CUB_STREAM = 0) {
    return kept(room, bytes, in, out, count, n, [&](long long i) { return static_cast<bool>(flags[i]); });
  }
  template <typename I, typename O, typename C> CUB_FUNCTION Unique(void* room, std::size_t& bytes, I in, O out, C count, long long n, CUB_STREAM = 0) {
    return kept(room, bytes, in, out, count, n, [&](long long i) { return i == 0 || !(in[i] == in[i - 1]); });
  }

 private:
  template <typename I, typename O, typename C, typename F> CUB_FUNCTION kept(void* room, std::size_t& bytes, I in, O out, C count, long long n, F is_kept) {
    CUB_ASKS(room, bytes)
    std::vector<ItemOf<I>> all;
    for (long long i = 0; i < n; ++i)
      if (is_kept(i)) all.push_back(in[i]);
    std::copy(all.begin(), all.end(), out);
    *count = static_cast<std::decay_t<decltype(*count)>>(all.size());
    return CUB_SUCCESS;
  }
};
struct DevicePartition {  // the others follow, in reverse order
  template <typename I, typename O, typename C, typename F> CUB_FUNCTION If(void* room, std::size_t& bytes, I in, O out, C count, long long n, F f, CUB_STREAM = 0) { return parted(room, bytes, in, out, count, n, [&](long long i) { return f(in[i]); }); }
  template <typename I, typename G, typename O, typename C> CUB_FUNCTION Flagged(void* room, std::size_t& bytes, I in, G flags, O out, C count, long long n, CUB_STREAM = 0) { return parted(room, bytes, in, out, count, n, [&](long long i) { return static_cast<bool>(flags[i]); }); }

 private:
  template <typename I, typename O, typename C, typename F> CUB_FUNCTION parted(void* room, std::size_t& bytes, I in, O out, C count, long long n, F is_first) {
    CUB_ASKS(room, bytes)
    std::vector<ItemOf<I>> first, rest;
    for (long long i = 0; i < n; ++i) (is_first(i) ? first : rest).push_back(in[i]);
    std::copy(rest.rbegin(), rest.rend(), std::copy(first.begin(), first.end(), out));
    *count = static_cast<std::decay_t<decltype(*count)>>(first.size());
    return CUB_SUCCESS;
  }
};
struct DeviceRunLengthEncode {
  template <typename I, typename U, typename L, typename C> CUB_FUNCTION Encode(void* room, std::size_t& bytes, I in, U unique, L lengths, C count, long long n, CUB_STREAM = 0) {
    CUB_ASKS(room, bytes)
    long long at = -1;
    for (long long i = 0; i < n; ++i) {
      if (i == 0 || !(in[i] == in[i - 1])) unique[++at] = in[i], lengths[at] = 0;
      ++lengths[at];
    }
    *count = static_cast<std::decay_t<decltype(*count)>>(at + 1);
    return CUB_SUCCESS;
  }
};
struct DeviceHistogram {
  template <typename I, typename C, typename L> CUB_FUNCTION HistogramEven(void* room, std::size_t& bytes, I in, C* counts, int levels, L low, L high, long long n, CUB_STREAM = 0) {
    CUB_ASKS(room, bytes)
    std::fill(counts, counts + levels - 1, C());
    for (long long i = 0; i < n; ++i) {
      const double value = static_cast<double>(in[i]);
      if (value < low || value >= high) continue;
      ++counts[static_cast<int>((value - low) * (levels - 1) / (static_cast<double>(high) - low))];
    }
    return CUB_SUCCESS;
  }
};
struct DeviceSegmentedReduce {
  template <typename I, typename O, typename B, typename E, typename F, typename T> CUB_FUNCTION Reduce(void* room, std::size_t& bytes, I in, O out, long long n, B begins, E ends, F f, T first, CUB_STREAM = 0) {
    CUB_ASKS(room, bytes)
    for (long long s = 0; s < n; ++s) {
      T all = first;
      for (long long i = begins[s]; i < ends[s]; ++i) all = f(all, in[i]);
      out[s] = all;
    }
    return CUB_SUCCESS;
  }
  template <typename I, typename O, typename B, typename E> CUB_FUNCTION Sum(void* room, std::size_t& bytes, I in, O out, long long n, B begins, E ends, CUB_STREAM s = 0) { return Reduce(room, bytes, in, out, n, begins, ends, [](auto a, auto b) { return a + b; }, ItemOf<I>(), s); }
};
struct DeviceRadixSort {
  template <typename K> CUB_FUNCTION SortKeys(void* room, std::size_t& bytes, const K* in, K* out, long long n, int = 0, int = sizeof(K) * 8, CUB_STREAM = 0) { return keys(room, bytes, in, out, n, [](K a, K b) { return a < b; }); }
  template <typename K> CUB_FUNCTION SortKeysDescending(void* room, std::size_t& bytes, const K* in, K* out, long long n, int = 0, int = sizeof(K) * 8, CUB_STREAM = 0) { return keys(room, bytes, in, out, n, [](K a, K b) { return b < a; }); }
  template <typename K, typename V> CUB_FUNCTION SortPairs(void* room, std::size_t& bytes, const K* in, K* out, const V* values, V* moved, long long n, int = 0, int = sizeof(K) * 8, CUB_STREAM = 0) { return pairs(room, bytes, in, out, values, moved, n, [](K a, K b) { return a < b; }); }
  template <typename K, typename V> CUB_FUNCTION SortPairsDescending(void* room, std::size_t& bytes, const K* in, K* out, const V* values, V* moved, long long n, int = 0, int = sizeof(K) * 8, CUB_STREAM = 0) { return pairs(room, bytes, in, out, values, moved, n, [](K a, K b) { return b < a; }); }
  template <typename K> CUB_FUNCTION SortKeys(void* room, std::size_t& bytes, DoubleBuffer<K>& k, long long n, int = 0, int = sizeof(K) * 8, CUB_STREAM s = 0) { return SortKeys(room, bytes, k.Current(), k.Current(), n, 0, 0, s); }
  template <typename K, typename V> CUB_FUNCTION SortPairs(void* room, std::size_t& bytes, DoubleBuffer<K>& k, DoubleBuffer<V>& v, long long n, int = 0, int = sizeof(K) * 8, CUB_STREAM s = 0) { return SortPairs(room, bytes, k.Current(), k.Current(), v.Current(), v.Current(), n, 0, 0, s); }

 private:
  template <typename K, typename F> CUB_FUNCTION keys(void* room, std::size_t& bytes, const K* in, K* out, long long n, F f) {
    CUB_ASKS(room, bytes)
    std::copy(in, in + n, out), std::stable_sort(out, out + n, f);
    return CUB_SUCCESS;
  }
  template <typename K, typename V, typename F> CUB_FUNCTION pairs(void* room, std::size_t& bytes, const K* in, K* out, const V* values, V* moved, long long n, F f) {
    CUB_ASKS(room, bytes)
    std::vector<std::pair<K, V>> all(n);
    for (long long i = 0; i < n; ++i) all[i] = {in[i], values[i]};
    std::stable_sort(all.begin(), all.end(), [f](const auto& a, const auto& b) { return f(a.first, b.first); });
    for (long long i = 0; i < n; ++i) out[i] = all[i].first, moved[i] = all[i].second;
    return CUB_SUCCESS;
  }
};
#undef CUB_ASKS
#undef CUB_FUNCTION
