// domain: half
// hazards: none
// expect: last 399.0 wrong 0
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>
#include <cuda_fp16.h>

__global__ void axpy(const __half* x, __half* y, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __float2half(a * __half2float(x[i]) + __half2float(y[i]));
}

int main() {
  const int n = 200;
  std::vector<__half> x(n), y(n);
  for (int i = 0; i < n; ++i) x[i] = __float2half(i * 0.5f), y[i] = __float2half(1.0f);
  __half *dx, *dy;
  cudaMalloc(&dx, n * sizeof(__half)), cudaMalloc(&dy, n * sizeof(__half));
  cudaMemcpy(dx, x.data(), n * sizeof(__half), cudaMemcpyHostToDevice);
  cudaMemcpy(dy, y.data(), n * sizeof(__half), cudaMemcpyHostToDevice);
  axpy<<<2, 128>>>(dx, dy, 4.0f, n);
  cudaMemcpy(y.data(), dy, n * sizeof(__half), cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += __half2float(y[i]) != 2.0f * i + 1.0f;
  printf("last %.1f wrong %d\n", __half2float(y[n - 1]), wrong);
}
