// domain: libraries
// hazards: none
// expect: sum -5 dot 18 right
#include <cstdio>
#include <vector>

#include <cublas_v2.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

// A product of half matrices and a dot product of half vectors, summed in float.
int main() {
  const int m = 12, n = 9, k = 16;
  std::vector<__half> a(m * k), b(k * n), c(m * n);
  for (int i = 0; i < m * k; ++i) a[i] = __float2half(static_cast<float>(i * 7 % 11 - 5));
  for (int i = 0; i < k * n; ++i) b[i] = __float2half(static_cast<float>(i * 5 % 7 - 3));
  __half *x, *y, *z, one = __float2half(1.0f), zero = __float2half(0.0f);
  float dot = 0, want = 0, sum = 0;
  cudaMalloc(&x, a.size() * 2), cudaMalloc(&y, b.size() * 2), cudaMalloc(&z, c.size() * 2);
  cudaMemcpy(x, a.data(), a.size() * 2, cudaMemcpyHostToDevice);
  cudaMemcpy(y, b.data(), b.size() * 2, cudaMemcpyHostToDevice);
  cublasHandle_t handle;
  cublasCreate(&handle);
  cublasHgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, x, m, y, k, &zero, z, m);
  cublasDotEx(handle, k * n, x, CUDA_R_16F, 1, y, CUDA_R_16F, 1, &dot, CUDA_R_32F, CUDA_R_32F);
  cudaMemcpy(c.data(), z, c.size() * 2, cudaMemcpyDeviceToHost);
  cublasDestroy(handle);
  for (int i = 0; i < k * n; ++i) want += __half2float(a[i]) * __half2float(b[i]);
  bool right = dot == want;
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < m; ++i) {
      float cell = 0;
      for (int l = 0; l < k; ++l) cell += __half2float(a[l * m + i]) * __half2float(b[j * k + l]);
      right &= cell == __half2float(c[j * m + i]), sum += cell;
    }
  printf("sum %g dot %g %s\n", sum, dot, right ? "right" : "WRONG");
}
