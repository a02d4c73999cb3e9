// domain: sorting
// hazards: shuffle-mask hard-coded-32
// expect: first 0 last 4016 right
#include <algorithm>
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

// Every warp of 32 sorts its own 32 keys in registers.
__global__ void sort32(unsigned* data) {
  const int lane = threadIdx.x & 31;
  unsigned v = data[blockIdx.x * blockDim.x + threadIdx.x];
  for (int k = 2; k <= 32; k <<= 1)
    for (int j = k >> 1; j > 0; j >>= 1) {
      unsigned other = __shfl_xor_sync(0xffffffff, v, j);
      bool lower = (lane & j) == 0, up = (lane & k) == 0;
      v = lower == up ? min(v, other) : max(v, other);
    }
  data[blockIdx.x * blockDim.x + threadIdx.x] = v;
}

int main() {
  const int n = 256;
  std::vector<unsigned> h(n), got(n);
  for (int i = 0; i < n; ++i) h[i] = (i * 2654435761u) >> 20;
  unsigned* d;
  cudaMalloc(&d, n * 4);
  cudaMemcpy(d, h.data(), n * 4, cudaMemcpyHostToDevice);
  sort32<<<2, 128>>>(d);
  cudaMemcpy(got.data(), d, n * 4, cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; i += 32) std::sort(h.begin() + i, h.begin() + i + 32);
  printf("first %u last %u %s\n", got[0], got[n - 1], got == h ? "right" : "WRONG");
}
