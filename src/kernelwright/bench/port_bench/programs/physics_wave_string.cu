// domain: physics
// hazards: none
// expect: checksum 39542500 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>


// A wave on a string over three time levels, in the fixed-point numbers of a sound chip.
__global__ void wave(const int* before, const int* now, int* after, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  after[i] = i == 0 || i == n - 1 ? 0 : 2 * now[i] - before[i] + (now[i - 1] - 2 * now[i] + now[i + 1]) / 4;
}

int main() {
  const int n = 200, steps = 60;
  std::vector<int> a(n), b(n), c(n), got(n);
  for (int i = 0; i < n; ++i) a[i] = b[i] = i > 80 && i < 120 ? (20 - abs(i - 100)) * 1000 : 0;
  int *x, *y, *z;
  cudaMalloc(&x, n * 4), cudaMalloc(&y, n * 4), cudaMalloc(&z, n * 4);
  cudaMemcpy(x, a.data(), n * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(y, b.data(), n * 4, cudaMemcpyHostToDevice);
  for (int t = 0; t < steps; ++t) {
    wave<<<4, 64>>>(x, y, z, n);
    int* last = x;
    x = y, y = z, z = last;
    for (int i = 0; i < n; ++i)
      c[i] = i == 0 || i == n - 1 ? 0 : 2 * b[i] - a[i] + (b[i - 1] - 2 * b[i] + b[i + 1]) / 4;
    a.swap(b), b.swap(c);
  }
  cudaMemcpy(got.data(), y, n * 4, cudaMemcpyDeviceToHost);
  long sum = 0;
  for (int i = 0; i < n; ++i) sum += 1L * i * got[i];
  printf("checksum %ld %s\n", sum, got == b ? "right" : "WRONG");
}
