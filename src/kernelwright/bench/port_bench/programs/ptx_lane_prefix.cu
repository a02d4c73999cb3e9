// domain: ptx
// hazards: inline-ptx ballot-32 lane-mask
// expect: last -31 wrong 0
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

__device__ unsigned lane_id() {
  unsigned lane;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}
__device__ unsigned lanes_before() {
  unsigned mask;
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(mask));
  return mask;
}
__global__ void rank(const int* in, int* out) {
  bool odd = in[threadIdx.x] & 1;
  unsigned votes = __ballot_sync(0xffffffffu, odd);
  out[threadIdx.x] = odd ? (int)__popc(votes & lanes_before()) : -(int)lane_id();
}

int main() {
  const int n = 96;
  std::vector<int> h(n), got(n);
  for (int i = 0; i < n; ++i) h[i] = i * i % 7;
  int *in, *out;
  cudaMalloc(&in, n * 4), cudaMalloc(&out, n * 4);
  cudaMemcpy(in, h.data(), n * 4, cudaMemcpyHostToDevice);
  rank<<<1, n>>>(in, out);
  cudaMemcpy(got.data(), out, n * 4, cudaMemcpyDeviceToHost);
  int wrong = 0, odd = 0;
  for (int i = 0; i < n; ++i) {
    if (i % 32 == 0) odd = 0;
    wrong += got[i] != (h[i] & 1 ? odd++ : -(i % 32));
  }
  printf("last %d wrong %d\n", got[n - 1], wrong);
}
