// domain: random
// hazards: none
// expect: inside 3158 of 4000 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>


// Random words from a counter and a key: every thread can start anywhere.
__host__ __device__ uint4 words(unsigned counter, unsigned key) {
  unsigned c0 = counter, c1 = 0, c2 = 0, c3 = 0, k0 = key, k1 = key ^ 0x5bd1e995u;
  for (int r = 0; r < 10; ++r) {
    unsigned long long a = 0xd2511f53ull * c0, b = 0xcd9e8d57ull * c2;
    unsigned n0 = static_cast<unsigned>(b >> 32) ^ c1 ^ k0, n2 = static_cast<unsigned>(a >> 32) ^ c3 ^ k1;
    c1 = static_cast<unsigned>(b), c3 = static_cast<unsigned>(a), c0 = n0, c2 = n2;
    k0 += 0x9e3779b9u, k1 += 0xbb67ae85u;
  }
  return make_uint4(c0, c1, c2, c3);
}
__global__ void count(unsigned* inside, int n, unsigned key) {
  int hits = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    uint4 w = words(i, key);
    unsigned long long x = w.x >> 16, y = w.y >> 16;
    hits += x * x + y * y < 1ull << 32;
  }
  atomicAdd(inside, hits);
}

int main() {
  const int n = 4000;
  unsigned *d, got, want = 0;
  cudaMalloc(&d, 4), cudaMemset(d, 0, 4);
  count<<<3, 96>>>(d, n, 2024u);
  cudaMemcpy(&got, d, 4, cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; ++i) {
    uint4 w = words(i, 2024u);
    unsigned long long x = w.x >> 16, y = w.y >> 16;
    want += x * x + y * y < 1ull << 32;
  }
  printf("inside %u of %d %s\n", got, n, got == want ? "right" : "WRONG");
}
