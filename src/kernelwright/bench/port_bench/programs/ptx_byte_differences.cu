// domain: ptx
// hazards: inline-ptx
// expect: sum 38254 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>


// Sums of absolute differences of bytes, by the instruction that video code uses.
__global__ void differences(const unsigned* a, const unsigned* b, unsigned* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned sum;
  asm("vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;" : "=r"(sum) : "r"(a[i]), "r"(b[i]), "r"(i));
  unsigned loaded;
  asm volatile("ld.cg.global.u32 %0, [%1];" : "=r"(loaded) : "l"(a + i));
  out[i] = sum + (loaded & 1u);
}

int main() {
  const int n = 100;
  std::vector<unsigned> a(n), b(n), got(n);
  for (int i = 0; i < n; ++i) a[i] = i * 2654435761u, b[i] = i * 40503u * 7919u;
  unsigned *x, *y, *z, all = 0;
  cudaMalloc(&x, n * 4), cudaMalloc(&y, n * 4), cudaMalloc(&z, n * 4);
  cudaMemcpy(x, a.data(), n * 4, cudaMemcpyHostToDevice), cudaMemcpy(y, b.data(), n * 4, cudaMemcpyHostToDevice);
  differences<<<1, 128>>>(x, y, z, n);
  cudaMemcpy(got.data(), z, n * 4, cudaMemcpyDeviceToHost);
  bool right = true;
  for (int i = 0; i < n; ++i) {
    unsigned sum = i + (a[i] & 1);
    for (int k = 0; k < 32; k += 8) sum += abs(static_cast<int>(a[i] >> k & 255) - static_cast<int>(b[i] >> k & 255));
    right &= sum == got[i], all += got[i];
  }
  printf("sum %u %s\n", all, right ? "right" : "WRONG");
}
