// domain: random
// hazards: none
// expect: near pi right
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include <cuda_runtime.h>

__device__ unsigned next(unsigned& s) {
  s ^= s << 13, s ^= s >> 17, s ^= s << 5;
  return s;
}
__global__ void pi(unsigned* inside, int n) {
  unsigned s = 12345u + (blockIdx.x * blockDim.x + threadIdx.x) * 7919u, hit = 0;
  for (int i = 0; i < n; ++i) {
    float x = (next(s) >> 8) * (1.0f / 16777216.0f), y = (next(s) >> 8) * (1.0f / 16777216.0f);
    hit += x * x + y * y <= 1.0f;
  }
  atomicAdd(inside, hit);
}

int main() {
  unsigned *d, got;
  cudaMalloc(&d, 4), cudaMemset(d, 0, 4);
  pi<<<8, 64>>>(d, 100);
  cudaMemcpy(&got, d, 4, cudaMemcpyDeviceToHost);
  double estimate = 4.0 * got / (8 * 64 * 100);
  printf("near pi %s\n", fabs(estimate - 3.14159265) < 0.03 ? "right" : "WRONG");
}
