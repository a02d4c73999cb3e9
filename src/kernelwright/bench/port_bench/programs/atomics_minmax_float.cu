// domain: atomics
// hazards: none
// expect: lowest -100.0 right
#include <algorithm>
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

// Floats ordered as integers, because there is no float atomicMin.
__device__ void atomic_min(float* at, float v) {
  int* p = (int*)at;
  int old = *(volatile int*)p, seen;
  do {
    seen = old;
    if (__int_as_float(seen) <= v) return;
    old = atomicCAS(p, seen, __float_as_int(v));
  } while (old != seen);
}
__global__ void lowest(const float* in, int n, float* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomic_min(out, in[i]);
}

int main() {
  const int n = 900;
  std::vector<float> h(n);
  float want = 1e9f, got = 1e9f, *in, *out;
  for (int i = 0; i < n; ++i) h[i] = (i * 733 % 911) * 0.5f - 100.0f, want = std::min(want, h[i]);
  cudaMalloc(&in, n * 4), cudaMalloc(&out, 4);
  cudaMemcpy(in, h.data(), n * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(out, &got, 4, cudaMemcpyHostToDevice);
  lowest<<<8, 128>>>(in, n, out);
  cudaMemcpy(&got, out, 4, cudaMemcpyDeviceToHost);
  printf("lowest %.1f %s\n", got, got == want ? "right" : "WRONG");
}
