// domain: compression
// hazards: none
// expect: words d4ae7570 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>


// Numbers of eleven bits packed into words, which may straddle them, and read back.
__global__ void pack(const unsigned* in, unsigned* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int bit = 11 * i;
  atomicOr(&out[bit / 32], in[i] << bit % 32);
  if (bit % 32 > 21) atomicOr(&out[bit / 32 + 1], in[i] >> (32 - bit % 32));
}
__global__ void unpack(const unsigned* in, unsigned* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = __funnelshift_r(in[11 * i / 32], in[11 * i / 32 + 1], 11 * i % 32) & 0x7ffu;
}

int main() {
  const int n = 300, words = n * 11 / 32 + 2;
  std::vector<unsigned> h(n), got(n), packed(words);
  for (int i = 0; i < n; ++i) h[i] = i * 2654435761u >> 21;
  unsigned *a, *b, *c, all = 0;
  cudaMalloc(&a, n * 4), cudaMalloc(&b, words * 4), cudaMalloc(&c, n * 4);
  cudaMemcpy(a, h.data(), n * 4, cudaMemcpyHostToDevice);
  cudaMemset(b, 0, words * 4);
  pack<<<3, 128>>>(a, b, n);
  unpack<<<3, 128>>>(b, c, n);
  cudaMemcpy(got.data(), c, n * 4, cudaMemcpyDeviceToHost);
  cudaMemcpy(packed.data(), b, words * 4, cudaMemcpyDeviceToHost);
  for (unsigned w : packed) all ^= w;
  printf("words %08x %s\n", all, got == h ? "right" : "WRONG");
}
