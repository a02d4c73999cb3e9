// domain: ptx
// hazards: inline-ptx
// expect: last 7b450dde wrong 0
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

__global__ void mix(const unsigned* in, unsigned* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned a = in[i], high, three, bits;
  asm("mul.hi.u32 %0, %1, %2;" : "=r"(high) : "r"(a), "r"(2654435761u));
  asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(three) : "r"(a), "r"(high), "r"(0xff00ffu));
  asm("popc.b32 %0, %1;" : "=r"(bits) : "r"(three));
  out[i] = three + bits;
}

int main() {
  const int n = 64;
  std::vector<unsigned> h(n), got(n);
  for (int i = 0; i < n; ++i) h[i] = i * 0x9e3779b9u;
  unsigned *in, *out;
  cudaMalloc(&in, n * 4), cudaMalloc(&out, n * 4);
  cudaMemcpy(in, h.data(), n * 4, cudaMemcpyHostToDevice);
  mix<<<1, 64>>>(in, out, n);
  cudaMemcpy(got.data(), out, n * 4, cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < n; ++i) {
    unsigned high = (unsigned)((unsigned long long)h[i] * 2654435761u >> 32), three = h[i] ^ high ^ 0xff00ffu;
    wrong += got[i] != three + __builtin_popcount(three);
  }
  printf("last %08x wrong %d\n", got[n - 1], wrong);
}
