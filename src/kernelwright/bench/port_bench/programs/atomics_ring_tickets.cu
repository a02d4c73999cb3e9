// domain: atomics
// hazards: none
// expect: next 3 seen 1023 odd 7 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>


// Tickets from a counter that wraps, bits from atomic or and exclusive or.
__global__ void tickets(unsigned* ring, unsigned* given, unsigned* seen, unsigned* odd, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned ticket = atomicInc(ring, 9);
  atomicAdd(&given[ticket], 1);
  atomicOr(seen, 1u << ticket);
  atomicXor(odd, 1u << (i % 5));
}

int main() {
  const int n = 203;
  unsigned *d, got[13], wrong = 0;
  cudaMalloc(&d, sizeof got), cudaMemset(d, 0, sizeof got);
  tickets<<<2, 128>>>(d, d + 1, d + 11, d + 12, n);
  cudaMemcpy(got, d, sizeof got, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 10; ++i) wrong += got[1 + i] != 20u + (i < n % 10);
  unsigned odd = 0;
  for (int i = 0; i < n; ++i) odd ^= 1u << i % 5;
  bool right = !wrong && got[0] == n % 10 && got[11] == 1023 && got[12] == odd;
  printf("next %u seen %u odd %u %s\n", got[0], got[11], got[12], right ? "right" : "WRONG");
}
