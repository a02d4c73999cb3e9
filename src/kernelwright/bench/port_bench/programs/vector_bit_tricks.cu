// domain: vector
// hazards: none
// expect: all b2d196ff right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>


// Bits turned round, counted and interleaved; words shifted through each other.
__global__ void tricks(const unsigned* in, unsigned* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned v = in[i], x = v & 0xffffu;
  x = (x | x << 8) & 0x00ff00ffu, x = (x | x << 4) & 0x0f0f0f0fu, x = (x | x << 2) & 0x33333333u, x = (x | x << 1) & 0x55555555u;
  out[i] = __brev(v) ^ x ^ __funnelshift_l(v, ~v, i % 32) + __popc(v) * __clz(v | 1) + __ffs(v) + __byte_perm(v, i, 0x4120);
}

int main() {
  const int n = 200;
  std::vector<unsigned> h(n), got(n);
  for (int i = 0; i < n; ++i) h[i] = i * 2654435761u ^ i << 9;
  unsigned *a, *b, all = 0;
  cudaMalloc(&a, n * 4), cudaMalloc(&b, n * 4);
  cudaMemcpy(a, h.data(), n * 4, cudaMemcpyHostToDevice);
  tricks<<<2, 128>>>(a, b, n);
  cudaMemcpy(got.data(), b, n * 4, cudaMemcpyDeviceToHost);
  bool right = true;
  for (int i = 0; i < n; ++i) {
    unsigned v = h[i], back = 0, x = 0, s = i % 32;
    for (int k = 0; k < 32; ++k) back |= (v >> k & 1u) << (31 - k);
    for (int k = 0; k < 16; ++k) x |= (v >> k & 1u) << 2 * k;
    unsigned shifted = s ? ~v << s | v >> (32 - s) : ~v;
    unsigned bytes = (v & 255) | (v >> 16 & 255) << 8 | (v >> 8 & 255) << 16 | (i & 255u) << 24;
    unsigned want = back ^ x ^ shifted + __builtin_popcount(v) * __builtin_clz(v | 1) + __builtin_ffs(v) + bytes;
    right &= want == got[i], all ^= got[i];
  }
  printf("all %08x %s\n", all, right ? "right" : "WRONG");
}
