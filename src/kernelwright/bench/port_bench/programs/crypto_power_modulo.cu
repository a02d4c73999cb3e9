// domain: crypto
// hazards: none
// expect: all 18acb60b69fa7def right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>


// Powers modulo a prime of 61 bits, with the upper half of products.
__host__ __device__ unsigned long long fold(unsigned long long high, unsigned long long low) {
  const unsigned long long p = (1ull << 61) - 1;
  unsigned long long v = (low & p) + (low >> 61 | high << 3);
  v = (v & p) + (v >> 61);
  return v >= p ? v - p : v;
}
__global__ void power(unsigned long long* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long base = 3 + i, result = 1;
  for (unsigned long long e = 1000003ull * (i + 1); e; e >>= 1) {
    if (e & 1) result = fold(__umul64hi(result, base), result * base);
    base = fold(__umul64hi(base, base), base * base);
  }
  out[i] = result;
}

int main() {
  const int n = 90;
  unsigned long long *d, got[n], all = 0;
  cudaMalloc(&d, sizeof got);
  power<<<3, 32>>>(d, n);
  cudaMemcpy(got, d, sizeof got, cudaMemcpyDeviceToHost);
  bool right = true;
  for (int i = 0; i < n; ++i) {
    const unsigned __int128 p = (1ull << 61) - 1;
    unsigned __int128 base = 3 + i, want = 1;
    for (unsigned long long e = 1000003ull * (i + 1); e; e >>= 1, base = base * base % p)
      if (e & 1) want = want * base % p;
    right &= got[i] == want, all ^= got[i];
  }
  printf("all %llx %s\n", all, right ? "right" : "WRONG");
}
