// domain: finance
// hazards: shuffle-mask warpSize
// expect: payoff 7935 right
#include <cstdio>

#include <cuda_runtime.h>

__device__ unsigned lcg(unsigned& s) { return s = s * 1664525u + 1013904223u; }
__global__ void paths(unsigned long long* sum, int n) {
  unsigned seed = blockIdx.x * blockDim.x + threadIdx.x + 1;
  unsigned long long pay = 0;
  for (int i = 0; i < n; ++i) {
    int level = 100;
    for (int t = 0; t < 16; ++t) level += (lcg(seed) >> 30 & 1u) ? 3 : -3;
    pay += level > 105 ? level - 105 : 0;
  }
  for (int o = warpSize >> 1; o > 0; o >>= 1) pay += __shfl_down_sync(0xffffffffu, pay, o);
  if ((threadIdx.x & (warpSize - 1)) == 0) atomicAdd(sum, pay);
}

int main() {
  const int blocks = 3, threads = 96, n = 10;
  unsigned long long want = 0, got, *d;
  for (unsigned id = 1; id <= blocks * threads; ++id) {
    unsigned s = id;
    for (int i = 0; i < n; ++i) {
      int level = 100;
      for (int t = 0; t < 16; ++t) s = s * 1664525u + 1013904223u, level += (s >> 30 & 1u) ? 3 : -3;
      want += level > 105 ? level - 105 : 0;
    }
  }
  cudaMalloc(&d, 8), cudaMemset(d, 0, 8);
  paths<<<blocks, threads>>>(d, n);
  cudaMemcpy(&got, d, 8, cudaMemcpyDeviceToHost);
  printf("payoff %llu %s\n", got, got == want ? "right" : "WRONG");
}
