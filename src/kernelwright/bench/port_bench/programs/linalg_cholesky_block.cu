// domain: linear-algebra
// hazards: none
// expect: first 5.000 wrong 0
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

__global__ void cholesky(double* a, int n) {
  extern __shared__ double s[];
  int t = threadIdx.x;
  for (int i = t; i < n * n; i += blockDim.x) s[i] = a[i];
  __syncthreads();
  for (int k = 0; k < n; ++k) {
    if (t == 0) s[k * n + k] = sqrt(s[k * n + k]);
    __syncthreads();
    for (int i = k + 1 + t; i < n; i += blockDim.x) s[i * n + k] /= s[k * n + k];
    __syncthreads();
    for (int i = k + 1 + t; i < n; i += blockDim.x)
      for (int j = k + 1; j <= i; ++j) s[i * n + j] -= s[i * n + k] * s[j * n + k];
    __syncthreads();
  }
  for (int i = t; i < n * n; i += blockDim.x) a[i] = s[i];
}

int main() {
  const int n = 24;
  std::vector<double> a(n * n), l(n * n);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) a[i * n + j] = i == j ? n + 1 : 1.0 / (1 + abs(i - j));
  double* d;
  cudaMalloc(&d, n * n * 8);
  cudaMemcpy(d, a.data(), n * n * 8, cudaMemcpyHostToDevice);
  cholesky<<<1, 32, n * n * sizeof(double)>>>(d, n);
  cudaMemcpy(l.data(), d, n * n * 8, cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j <= i; ++j) {
      double sum = 0;
      for (int k = 0; k <= j; ++k) sum += l[i * n + k] * l[j * n + k];
      wrong += fabs(sum - a[i * n + j]) > 1e-9;
    }
  printf("first %.3f wrong %d\n", l[0], wrong);
}
