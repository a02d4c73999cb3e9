// domain: atomics
// hazards: none
// expect: 7425.0 7475.0 7525.0 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>


// Sums of doubles by compare-and-swap of their bits, as before there was an instruction for it.
__device__ double add(double* at, double v) {
  unsigned long long *bits = reinterpret_cast<unsigned long long*>(at), old = *bits, seen;
  do {
    seen = old;
    old = atomicCAS(bits, seen, __double_as_longlong(v + __longlong_as_double(seen)));
  } while (old != seen);
  return __longlong_as_double(old);
}
__global__ void sums(double* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) add(&out[i % 3], i * 0.5);
}

int main() {
  const int n = 300;
  double *d, got[3], want[3] = {0, 0, 0};
  for (int i = 0; i < n; ++i) want[i % 3] += i * 0.5;
  cudaMalloc(&d, sizeof got), cudaMemset(d, 0, sizeof got);
  sums<<<3, 128>>>(d, n);
  cudaMemcpy(got, d, sizeof got, cudaMemcpyDeviceToHost);
  bool right = got[0] == want[0] && got[1] == want[1] && got[2] == want[2];
  printf("%.1f %.1f %.1f %s\n", got[0], got[1], got[2], right ? "right" : "WRONG");
}
