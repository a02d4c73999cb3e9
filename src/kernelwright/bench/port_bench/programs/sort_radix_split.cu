// domain: sorting
// hazards: ballot-32 lane-mask shared-size
// expect: first 0 last 1023 right
#include <algorithm>
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

// Least-significant-bit radix sort of one block, ranks by ballots within warps.
#define WARP 32
__global__ void radix(unsigned* data, int bits) {
  __shared__ unsigned keys[256];
  __shared__ int zeros[256 / WARP];
  const int t = threadIdx.x, lane = t % WARP, warp = t / WARP;
  keys[t] = data[t];
  __syncthreads();
  for (int b = 0; b < bits; ++b) {
    unsigned key = keys[t];
    bool is_zero = (key >> b & 1u) == 0;
    unsigned votes = __ballot_sync(~0u, is_zero);
    if (lane == 0) zeros[warp] = __popc(votes);
    __syncthreads();
    int before = 0, all = 0;
    for (int w = 0; w < 256 / WARP; ++w) {
      if (w < warp) before += zeros[w];
      all += zeros[w];
    }
    before += __popc(votes & ((1u << lane) - 1u));
    int to = is_zero ? before : all + t - before;
    __syncthreads();
    keys[to] = key;
    __syncthreads();
  }
  data[t] = keys[t];
}

int main() {
  const int n = 256;
  std::vector<unsigned> h(n), got(n);
  for (int i = 0; i < n; ++i) h[i] = (i * 40503u) & 1023u;
  unsigned* d;
  cudaMalloc(&d, n * 4);
  cudaMemcpy(d, h.data(), n * 4, cudaMemcpyHostToDevice);
  radix<<<1, n>>>(d, 10);
  cudaMemcpy(got.data(), d, n * 4, cudaMemcpyDeviceToHost);
  std::sort(h.begin(), h.end());
  printf("first %u last %u %s\n", got[0], got[n - 1], got == h ? "right" : "WRONG");
}
