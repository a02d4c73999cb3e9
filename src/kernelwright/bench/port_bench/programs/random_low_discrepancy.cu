// domain: random
// hazards: constant
// expect: all 00000000 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>


// A Sobol sequence by direction numbers in constant memory and the Gray code of the index.
__constant__ unsigned direction[2][16];
__host__ __device__ unsigned point(const unsigned* d, unsigned i) {
  unsigned gray = i ^ i >> 1, v = 0;
  for (int b = 0; b < 16; ++b) v ^= gray >> b & 1 ? d[b] : 0u;
  return v;
}
__global__ void points(uint2* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = make_uint2(point(direction[0], i), point(direction[1], i));
}

int main() {
  const int n = 256;
  unsigned d[2][16];
  for (int b = 0; b < 16; ++b) d[0][b] = 1u << (31 - b);
  d[1][0] = 1u << 31;
  for (int b = 1; b < 16; ++b) d[1][b] = d[1][b - 1] ^ d[1][b - 1] >> 1;
  cudaMemcpyToSymbol(direction, d, sizeof d);
  uint2 *p, got[n];
  cudaMalloc(&p, sizeof got);
  points<<<2, 128>>>(p, n);
  cudaMemcpy(got, p, sizeof got, cudaMemcpyDeviceToHost);
  bool right = true;
  int cell[16] = {0};
  unsigned all = 0;
  for (int i = 0; i < n; ++i) {
    right &= got[i].x == point(d[0], i) && got[i].y == point(d[1], i);
    ++cell[(got[i].x >> 30) * 4 + (got[i].y >> 30)], all ^= got[i].y;
  }
  for (int c : cell) right &= c == n / 16;
  printf("all %08x %s\n", all, right ? "right" : "WRONG");
}
