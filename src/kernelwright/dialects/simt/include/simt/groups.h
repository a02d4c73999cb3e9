// Cooperative groups on the warp functions of the emulation or of HIP: threads of a block, tiles,
// converged threads, the grid. Not covered: group reductions and scans, asynchronous copies,
// several devices, partitions by label.
#pragma once

#if defined(SIMT_SITE)
#define SIMT_GRID_SYNC() simt::simt_grid_barrier()
#elif defined(__HIP_DEVICE_COMPILE__)
extern "C" __device__ void __ockl_grid_sync(void);
#define SIMT_GRID_SYNC() __ockl_grid_sync()
#else
#define SIMT_GRID_SYNC() ((void)0)
#endif

namespace cooperative_groups {

__device__ inline unsigned thread_of_block() {
  return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
}

class thread_block {
 public:
  __device__ void sync() const { __syncthreads(); }
  __device__ unsigned thread_rank() const { return thread_of_block(); }
  __device__ unsigned size() const { return blockDim.x * blockDim.y * blockDim.z; }
  __device__ unsigned num_threads() const { return size(); }
  __device__ dim3 group_index() const { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
  __device__ dim3 thread_index() const { return dim3(threadIdx.x, threadIdx.y, threadIdx.z); }
  __device__ dim3 group_dim() const { return dim3(blockDim.x, blockDim.y, blockDim.z); }
};
__device__ inline thread_block this_thread_block() { return {}; }

class grid_group {
 public:
  __device__ void sync() const { SIMT_GRID_SYNC(); }
  __device__ bool is_valid() const { return true; }
  __device__ unsigned long long size() const {
    return 1ull * gridDim.x * gridDim.y * gridDim.z * blockDim.x * blockDim.y * blockDim.z;
  }
  __device__ unsigned long long num_threads() const { return size(); }
  __device__ unsigned long long thread_rank() const {
    const unsigned long long block = (1ull * blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    return block * blockDim.x * blockDim.y * blockDim.z + thread_of_block();
  }
};
__device__ inline grid_group this_grid() { return {}; }

template <unsigned N, typename Parent = void>
class thread_block_tile {
  static_assert(N && !(N & (N - 1)) && N <= 64, "tiles have a power of two of threads");
  __device__ unsigned base() const { return __lane_id() & ~(N - 1); }

 public:
  thread_block_tile() = default;
  template <typename Other> __device__ thread_block_tile(const thread_block_tile<N, Other>&) {}
  __device__ void sync() const { __syncwarp(); }
  __device__ unsigned thread_rank() const { return thread_of_block() % N; }
  __device__ unsigned meta_group_rank() const { return thread_of_block() / N; }
  __device__ unsigned meta_group_size() const {
    return (blockDim.x * blockDim.y * blockDim.z + N - 1) / N;
  }
  __device__ static constexpr unsigned size() { return N; }
  __device__ static constexpr unsigned num_threads() { return N; }
  template <typename T> __device__ T shfl(T v, int at) const { return __shfl(v, at, N); }
  template <typename T> __device__ T shfl_up(T v, unsigned d) const { return __shfl_up(v, d, N); }
  template <typename T> __device__ T shfl_down(T v, unsigned d) const { return __shfl_down(v, d, N); }
  template <typename T> __device__ T shfl_xor(T v, unsigned m) const { return __shfl_xor(v, m, N); }
  __device__ unsigned long long ballot(int p) const {
    const unsigned long long all = N == 64 ? ~0ull : (1ull << (N & 63)) - 1;
    return static_cast<unsigned long long>(__ballot(p)) >> base() & all;
  }
  __device__ int any(int p) const { return ballot(p) != 0; }
  __device__ int all(int p) const { return ballot(!p) == 0; }
};
template <unsigned N, typename Group>
__device__ thread_block_tile<N, Group> tiled_partition(const Group&) { return {}; }

class coalesced_group {
  unsigned long long lanes_;

 public:
  __device__ explicit coalesced_group(unsigned long long lanes) : lanes_(lanes) {}
  __device__ void sync() const { __syncwarp(); }
  __device__ unsigned size() const { return __popcll(lanes_); }
  __device__ unsigned num_threads() const { return size(); }
  __device__ unsigned thread_rank() const { return __popcll(lanes_ & ((1ull << __lane_id()) - 1)); }
  template <typename T> __device__ T shfl(T v, unsigned rank) const {
    unsigned long long left = lanes_;
    for (unsigned i = 0; i < rank; ++i) left &= left - 1;
    return __shfl(v, __ffsll(static_cast<long long>(left)) - 1);
  }
  __device__ int any(int p) const { return __any(p); }
  __device__ int all(int p) const { return __all(p); }
};
__device__ inline coalesced_group coalesced_threads() { return coalesced_group(__ballot(1)); }

// A group of a kind that is known when it runs: the block, or a tile of it.
class thread_group {
  unsigned size_;

 public:
  __device__ thread_group(const thread_block& block) : size_(block.size()) {}
  template <unsigned N, typename P> __device__ thread_group(const thread_block_tile<N, P>&) : size_(N) {}
  __device__ explicit thread_group(unsigned n) : size_(n) {}
  __device__ unsigned size() const { return size_; }
  __device__ unsigned num_threads() const { return size_; }
  __device__ unsigned thread_rank() const { return thread_of_block() % size_; }
  __device__ bool is_valid() const { return true; }
  __device__ void sync() const {
    if (size_ == thread_block().size()) __syncthreads();
    else __syncwarp();
  }
};
template <typename Group> __device__ thread_group tiled_partition(const Group&, unsigned n) { return thread_group(n); }

template <typename Group> __device__ void sync(const Group& group) { group.sync(); }
template <typename Group> __device__ unsigned thread_rank(const Group& group) { return group.thread_rank(); }
template <typename Group> __device__ unsigned group_size(const Group& group) { return group.size(); }

}  // namespace cooperative_groups
