// domain: signal
// hazards: hard-coded-32 shuffle-mask
// expect: first 224 wrong 0
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

// A filter of five taps whose samples slide through the lanes of a warp of 32.
__global__ void fir(const int* in, int* out, int n) {
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, i = (blockIdx.x * (blockDim.x >> 5) + warp) * 28 + lane;
  int v = i < n ? in[i] : 0, sum = 0;
  const int tap[5] = {1, 4, 6, 4, 1};
  for (int k = 0; k < 5; ++k) sum += tap[k] * __shfl_down_sync(0xffffffff, v, k);
  if (lane < 28 && i + 4 < n) out[i] = sum;
}

int main() {
  const int n = 500;
  std::vector<int> h(n), got(n, 0);
  for (int i = 0; i < n; ++i) h[i] = i * 7 % 31;
  int *in, *out;
  cudaMalloc(&in, n * 4), cudaMalloc(&out, n * 4);
  cudaMemcpy(in, h.data(), n * 4, cudaMemcpyHostToDevice);
  fir<<<(n + 111) / 112, 128>>>(in, out, n);
  cudaMemcpy(got.data(), out, n * 4, cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i + 4 < n; ++i) wrong += got[i] != h[i] + 4 * h[i + 1] + 6 * h[i + 2] + 4 * h[i + 3] + h[i + 4];
  printf("first %d wrong %d\n", got[0], wrong);
}
