// domain: libraries
// hazards: none
// expect: eigenvalue 18.000 largest at 1 residual ok
#include <cmath>
#include <cstdio>
#include <vector>

#include <cublas_v2.h>
#include <cuda_runtime.h>

// The largest eigenvalue of a symmetric matrix with known ones, by cuBLAS alone.
int main() {
  const int n = 32;
  std::vector<float> a(n * n, 0.0f), start(n, 1.0f);
  for (int i = 0; i < n; ++i) a[i * n + i] = i == 0 ? 18.0f : 1.0f + i % 5;
  float *da, *x, *y;
  cudaMalloc(&da, n * n * sizeof(float)), cudaMalloc(&x, n * sizeof(float)), cudaMalloc(&y, n * sizeof(float));
  cublasHandle_t handle;
  if (cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS) return 1;
  cublasSetMatrix(n, n, sizeof(float), a.data(), n, da, n);
  cublasSetVector(n, sizeof(float), start.data(), 1, x, 1);
  const float one = 1.0f, zero = 0.0f;
  float norm = 0.0f, value = 0.0f;
  for (int step = 0; step < 40; ++step) {
    cublasSgemv(handle, CUBLAS_OP_N, n, n, &one, da, n, x, 1, &zero, y, 1);
    cublasSdot(handle, n, x, 1, y, 1, &value);
    cublasSnrm2(handle, n, y, 1, &norm);
    const float scale = 1.0f / norm;
    cublasSscal(handle, n, &scale, y, 1);
    cublasScopy(handle, n, y, 1, x, 1);
  }
  int at = 0;
  cublasIsamax(handle, n, x, 1, &at);
  cublasSgemv(handle, CUBLAS_OP_T, n, n, &one, da, n, x, 1, &zero, y, 1);
  const float minus = -value;
  float residual = 0.0f;
  cublasSaxpy(handle, n, &minus, x, 1, y, 1);
  cublasSasum(handle, n, y, 1, &residual);
  printf("eigenvalue %.3f largest at %d residual %s\n", value, at, residual < 1e-3f ? "ok" : "large");
  cublasDestroy(handle);
  cudaFree(da), cudaFree(x), cudaFree(y);
}
