// domain: random
// hazards: none
// expect: once 256 first 114
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

// A keyed bijection of 0..255: every value comes exactly once.
__global__ void permute(unsigned* out, unsigned key) {
  unsigned v = threadIdx.x;
  for (int r = 0; r < 4; ++r) {
    unsigned left = v >> 4, right = v & 15u;
    unsigned f = ((right * 11u + key + r) ^ (right >> 2)) & 15u;
    v = right << 4 | (left ^ f);
  }
  out[threadIdx.x] = v;
}

int main() {
  std::vector<unsigned> got(256), seen(256, 0);
  unsigned* d;
  cudaMalloc(&d, 1024);
  permute<<<1, 256>>>(d, 77u);
  cudaMemcpy(got.data(), d, 1024, cudaMemcpyDeviceToHost);
  for (unsigned v : got) ++seen[v & 255u];
  int once = 0;
  for (unsigned v : seen) once += v == 1;
  printf("once %d first %u\n", once, got[0]);
}
