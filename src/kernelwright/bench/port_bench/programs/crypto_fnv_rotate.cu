// domain: crypto
// hazards: inline-ptx
// expect: last 7e11f300 wrong 0
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

__device__ unsigned rotate(unsigned v, unsigned n) {
  unsigned out;
  asm("shf.l.wrap.b32 %0, %1, %1, %2;" : "=r"(out) : "r"(v), "r"(n));
  return out;
}
__device__ unsigned bits(unsigned v, unsigned at, unsigned n) {
  unsigned out;
  asm("bfe.u32 %0, %1, %2, %3;" : "=r"(out) : "r"(v), "r"(at), "r"(n));
  return out;
}
__global__ void mix(const unsigned* in, unsigned* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned h = 2166136261u;
  for (int k = 0; k < 4; ++k) h = rotate((h ^ bits(in[i], 8 * k, 8)) * 16777619u, 5 + k);
  out[i] = h;
}

int main() {
  const int n = 77;
  std::vector<unsigned> in(n), got(n);
  for (int i = 0; i < n; ++i) in[i] = i * 0x01234567u;
  unsigned *di, *dout;
  cudaMalloc(&di, n * 4), cudaMalloc(&dout, n * 4);
  cudaMemcpy(di, in.data(), n * 4, cudaMemcpyHostToDevice);
  mix<<<1, 96>>>(di, dout, n);
  cudaMemcpy(got.data(), dout, n * 4, cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < n; ++i) {
    unsigned h = 2166136261u;
    for (int k = 0; k < 4; ++k) {
      h = (h ^ (in[i] >> 8 * k & 255u)) * 16777619u;
      h = h << (5 + k) | h >> (27 - k);
    }
    wrong += h != got[i];
  }
  printf("last %08x wrong %d\n", got[n - 1], wrong);
}
