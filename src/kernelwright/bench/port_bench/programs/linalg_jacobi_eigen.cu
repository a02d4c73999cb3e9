// domain: linear-algebra
// hazards: none
// expect: value 20.0040 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>


// The largest eigenvalue by powers, its norm by a reduction of the block.
__global__ void power(const double* a, double* v, double* value, int n, int rounds) {
  __shared__ double x[32], s[32];
  int i = threadIdx.x;
  x[i] = i < n ? 1.0 : 0.0;
  __syncthreads();
  for (int r = 0; r < rounds; ++r) {
    double y = 0;
    for (int j = 0; j < n && i < n; ++j) y += a[i * n + j] * x[j];
    s[i] = y * y;
    __syncthreads();
    for (int o = 16; o > 0; o /= 2) {
      if (i < o) s[i] += s[i + o];
      __syncthreads();
    }
    double norm = sqrt(s[0]);
    x[i] = y / norm;
    if (i == 0) *value = norm;
    __syncthreads();
  }
  if (i < n) v[i] = x[i];
}

int main() {
  const int n = 20;
  std::vector<double> a(n * n);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) a[i * n + j] = i == j ? i + 1.0 : 1.0 / (1 + i + j);
  double *d, *v, *e, value, x[n];
  cudaMalloc(&d, n * n * 8), cudaMalloc(&v, n * 8), cudaMalloc(&e, 8);
  cudaMemcpy(d, a.data(), n * n * 8, cudaMemcpyHostToDevice);
  power<<<1, 32>>>(d, v, e, n, 300);
  cudaMemcpy(&value, e, 8, cudaMemcpyDeviceToHost), cudaMemcpy(x, v, n * 8, cudaMemcpyDeviceToHost);
  double off = 0;
  for (int i = 0; i < n; ++i) {
    double y = 0;
    for (int j = 0; j < n; ++j) y += a[i * n + j] * x[j];
    off += (y - value * x[i]) * (y - value * x[i]);
  }
  printf("value %.4f %s\n", value, off < 1e-6 ? "right" : "WRONG");
}
