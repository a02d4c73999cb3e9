// domain: linear-algebra
// hazards: none
// expect: trace 1438.3 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>


// LU without pivots in one block's shared memory, then the product is compared.
__global__ void lu(float* a, int n) {
  __shared__ float s[24][25];
  int x = threadIdx.x, y = threadIdx.y;
  s[y][x] = a[y * n + x];
  __syncthreads();
  for (int k = 0; k < n - 1; ++k) {
    if (y > k && x == k) s[y][k] /= s[k][k];
    __syncthreads();
    if (y > k && x > k) s[y][x] -= s[y][k] * s[k][x];
    __syncthreads();
  }
  a[y * n + x] = s[y][x];
}

int main() {
  const int n = 24;
  std::vector<float> a(n * n), got(n * n);
  for (int i = 0; i < n * n; ++i) a[i] = i / n == i % n ? 60.0f : (i * 7 % 11) - 5.0f;
  float* d;
  cudaMalloc(&d, n * n * 4);
  cudaMemcpy(d, a.data(), n * n * 4, cudaMemcpyHostToDevice);
  lu<<<1, dim3(n, n)>>>(d, n);
  cudaMemcpy(got.data(), d, n * n * 4, cudaMemcpyDeviceToHost);
  bool right = true;
  double trace = 0;
  for (int y = 0; y < n; ++y)
    for (int x = 0; x < n; ++x) {
      float sum = 0;
      for (int k = 0; k <= std::min(x, y); ++k) sum += (k == y ? 1.0f : got[y * n + k]) * got[k * n + x];
      float off = sum - a[y * n + x];
      right &= off < 1e-3f && off > -1e-3f;
      trace += x == y ? got[y * n + x] : 0;
    }
  printf("trace %.1f %s\n", trace, right ? "right" : "WRONG");
}
