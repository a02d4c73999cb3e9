// domain: vector
// hazards: simd-in-word
// expect: sum 3379314209 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>


// Four bytes a word: saturating sums, maxima and differences without unpacking.
__global__ void mix(const unsigned* a, const unsigned* b, unsigned* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned high = __vmaxs4(a[i], b[i]), far = __vabsdiffu4(a[i], b[i]);
  out[i] = __vaddus4(high, far) ^ (__vcmpgtu4(a[i], b[i]) & __vavgu4(a[i], b[i]));
}

int main() {
  const int n = 300;
  std::vector<unsigned> a(n), b(n), got(n);
  for (int i = 0; i < n; ++i) a[i] = i * 2654435761u, b[i] = i * 40503u * 65599u + 7;
  unsigned *x, *y, *z, sum = 0;
  cudaMalloc(&x, n * 4), cudaMalloc(&y, n * 4), cudaMalloc(&z, n * 4);
  cudaMemcpy(x, a.data(), n * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(y, b.data(), n * 4, cudaMemcpyHostToDevice);
  mix<<<(n + 127) / 128, 128>>>(x, y, z, n);
  cudaMemcpy(got.data(), z, n * 4, cudaMemcpyDeviceToHost);
  bool right = true;
  for (int i = 0; i < n; ++i) {
    unsigned want = 0;
    for (int at = 0; at < 32; at += 8) {
      int ua = a[i] >> at & 255, ub = b[i] >> at & 255, sa = (signed char)ua, sb = (signed char)ub;
      int sum_ = ((sa > sb ? sa : sb) & 255) + (ua > ub ? ua - ub : ub - ua);
      int part = (sum_ > 255 ? 255 : sum_) ^ (ua > ub ? (ua + ub + 1) >> 1 : 0);
      want |= (unsigned)part << at;
    }
    right &= want == got[i], sum += got[i];
  }
  printf("sum %u %s\n", sum, right ? "right" : "WRONG");
}
