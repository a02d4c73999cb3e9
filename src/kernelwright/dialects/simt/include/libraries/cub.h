// The parts of CUB and hipCUB that programs call most, in plain loops; the namespace is the
// includer's. Not covered: sorting within a block, histograms, selection, segments, custom
// operators over the whole device.
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
  __device__ void InclusiveSum(T in, T& out) { T all; InclusiveSum(in, out, all); }
  __device__ void ExclusiveSum(T in, T& out) { T all; ExclusiveSum(in, out, all); }
  __device__ void InclusiveSum(T in, T& out, T& all) { scan(in, out, all, 1); }
  __device__ void ExclusiveSum(T in, T& out, T& all) { scan(in, out, all, 0); }
  template <int N> __device__ void InclusiveSum(T (&in)[N], T (&out)[N]) { T all; several(in, out, all, true); }
  template <int N> __device__ void InclusiveSum(T (&in)[N], T (&out)[N], T& all) { several(in, out, all, true); }
  template <int N> __device__ void ExclusiveSum(T (&in)[N], T (&out)[N]) { T all; several(in, out, all, false); }
  template <int N> __device__ void ExclusiveSum(T (&in)[N], T (&out)[N], T& all) { several(in, out, all, false); }

 private:
  __device__ void scan(T in, T& out, T& all, int own) {
    room_.values[linear_thread()] = in;
    __syncthreads();
    out = T(), all = T();
    for (int i = 0; i < X * Y * Z; ++i) {
      if (i < linear_thread() + own) out += room_.values[i];
      all += room_.values[i];
    }
  }
  template <int N> __device__ void several(T (&in)[N], T (&out)[N], T& all, bool with_own) {
    T own = in[0], before;
    for (int i = 1; i < N; ++i) own += in[i];
    scan(own, before, all, 0);
    for (int i = 0; i < N; ++i) {
      const T value = in[i];
      out[i] = with_own ? before + value : before;
      before += value;
    }
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
  __device__ T Sum(T value) {
    for (int step = W / 2; step > 0; step /= 2) value += __shfl_down(value, step, W);
    return value;
  }
};

template <typename T, int W = 32>
class WarpScan {
 public:
  struct TempStorage {};
  __device__ explicit WarpScan(TempStorage&) {}
  __device__ void InclusiveSum(T in, T& out) {
    out = in;
    for (int step = 1; step < W; step *= 2) {
      const T before = __shfl_up(out, step, W);
      if (linear_thread() % W >= step) out += before;
    }
  }
  __device__ void ExclusiveSum(T in, T& out) { InclusiveSum(in, out), out -= in; }
};

// Functions of the whole device: asked first for the size of the memory that they want, then run.
#define CUB_ASKS(room, bytes) \
  if ((room) == nullptr) { (bytes) = 1; return CUB_SUCCESS; }
struct DeviceReduce {
  template <typename I, typename O> static CUB_ERROR Sum(void* room, std::size_t& bytes, I in, O out, long long n, CUB_STREAM = 0) {
    CUB_ASKS(room, bytes)
    auto sum = in[0];
    for (long long i = 1; i < n; ++i) sum += in[i];
    *out = sum;
    return CUB_SUCCESS;
  }
  template <typename I, typename O> static CUB_ERROR Max(void* room, std::size_t& bytes, I in, O out, long long n, CUB_STREAM = 0) {
    CUB_ASKS(room, bytes)
    *out = *std::max_element(in, in + n);
    return CUB_SUCCESS;
  }
  template <typename I, typename O> static CUB_ERROR Min(void* room, std::size_t& bytes, I in, O out, long long n, CUB_STREAM = 0) {
    CUB_ASKS(room, bytes)
    *out = *std::min_element(in, in + n);
    return CUB_SUCCESS;
  }
};
struct DeviceScan {
  template <typename I, typename O> static CUB_ERROR InclusiveSum(void* room, std::size_t& bytes, I in, O out, long long n, CUB_STREAM = 0) {
    CUB_ASKS(room, bytes)
    std::partial_sum(in, in + n, out);
    return CUB_SUCCESS;
  }
  template <typename I, typename O> static CUB_ERROR ExclusiveSum(void* room, std::size_t& bytes, I in, O out, long long n, CUB_STREAM = 0) {
    CUB_ASKS(room, bytes)
    auto sum = in[0];
    sum = 0;
    for (long long i = 0; i < n; ++i) {
      const auto value = in[i];
      out[i] = sum, sum += value;
    }
    return CUB_SUCCESS;
  }
};
struct DeviceRadixSort {
  template <typename K> static CUB_ERROR SortKeys(void* room, std::size_t& bytes, const K* in, K* out, long long n, int = 0, int = sizeof(K) * 8, CUB_STREAM = 0) {
    CUB_ASKS(room, bytes)
    std::copy(in, in + n, out), std::stable_sort(out, out + n);
    return CUB_SUCCESS;
  }
  template <typename K> static CUB_ERROR SortKeysDescending(void* room, std::size_t& bytes, const K* in, K* out, long long n, int = 0, int = sizeof(K) * 8, CUB_STREAM = 0) {
    CUB_ASKS(room, bytes)
    std::copy(in, in + n, out), std::stable_sort(out, out + n, [](K a, K b) { return b < a; });
    return CUB_SUCCESS;
  }
  template <typename K, typename V> static CUB_ERROR SortPairs(void* room, std::size_t& bytes, const K* keys, K* sorted, const V* values, V* moved, long long n, int = 0, int = sizeof(K) * 8, CUB_STREAM = 0) {
    CUB_ASKS(room, bytes)
    std::vector<std::pair<K, V>> all(n);
    for (long long i = 0; i < n; ++i) all[i] = {keys[i], values[i]};
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (long long i = 0; i < n; ++i) sorted[i] = all[i].first, moved[i] = all[i].second;
    return CUB_SUCCESS;
  }
};
#undef CUB_ASKS
