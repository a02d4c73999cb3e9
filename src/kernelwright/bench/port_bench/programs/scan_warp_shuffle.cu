// domain: scan
// hazards: shuffle-mask hard-coded-32
// expect: last 2555 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

__device__ int warp_scan(int v) {
#pragma unroll
  for (int d = 1; d < 32; d <<= 1) {
    int up = __shfl_up_sync(0xffffffffu, v, d);
    if ((threadIdx.x & 31) >= d) v += up;
  }
  return v;
}
__global__ void scan(int* data) {
  __shared__ int sums[32];
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  int v = warp_scan(data[threadIdx.x]);
  if (lane == 31) sums[warp] = v;
  __syncthreads();
  if (warp == 0) {
    int s = lane < (blockDim.x >> 5) ? sums[lane] : 0;
    sums[lane] = warp_scan(s);
  }
  __syncthreads();
  if (warp > 0) v += sums[warp - 1];
  data[threadIdx.x] = v;
}

int main() {
  const int n = 512;
  std::vector<int> h(n), want(n), got(n);
  int total = 0;
  for (int i = 0; i < n; ++i) h[i] = i * 31 % 11, want[i] = total += h[i];
  int* d;
  cudaMalloc(&d, n * 4);
  cudaMemcpy(d, h.data(), n * 4, cudaMemcpyHostToDevice);
  scan<<<1, n>>>(d);
  cudaMemcpy(got.data(), d, n * 4, cudaMemcpyDeviceToHost);
  printf("last %d %s\n", got[n - 1], got == want ? "right" : "WRONG");
}
