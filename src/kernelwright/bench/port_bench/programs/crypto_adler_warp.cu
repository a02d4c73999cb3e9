// domain: crypto
// hazards: reduce-sync shuffle-mask
// expect: adler e3aef1f4 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

__global__ void adler(const unsigned char* in, int n, unsigned* out) {
  unsigned a = 0, b = 0;
  for (int i = threadIdx.x; i < n; i += 32) a += in[i], b += (unsigned)(n - i) * in[i];
  a = __reduce_add_sync(0xffffffffu, a % 65521u);
  b = __reduce_add_sync(0xffffffffu, b % 65521u);
  if (threadIdx.x == 0) *out = ((b + n) % 65521u) << 16 | (a + 1) % 65521u;
}

int main() {
  const int n = 1000;
  std::vector<unsigned char> in(n);
  unsigned a = 1, b = 0, got;
  for (int i = 0; i < n; ++i) in[i] = (unsigned char)(i * 11), a = (a + in[i]) % 65521, b = (b + a) % 65521;
  unsigned char* di;
  unsigned* dout;
  cudaMalloc(&di, n), cudaMalloc(&dout, 4);
  cudaMemcpy(di, in.data(), n, cudaMemcpyHostToDevice);
  adler<<<1, 32>>>(di, n, dout);
  cudaMemcpy(&got, dout, 4, cudaMemcpyDeviceToHost);
  printf("adler %08x %s\n", got, got == (b << 16 | a) ? "right" : "WRONG");
}
