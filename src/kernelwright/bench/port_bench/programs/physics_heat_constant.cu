// domain: physics
// hazards: none
// expect: middle 105.040 wrong 0
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

__constant__ float coefficient[3];
__global__ void heat(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float left = i ? in[i - 1] : 0.0f, right = i < n - 1 ? in[i + 1] : 0.0f;
  out[i] = coefficient[0] * left + coefficient[1] * in[i] + coefficient[2] * right;
}

int main() {
  const int n = 96, steps = 30;
  const float c[3] = {0.25f, 0.5f, 0.25f};
  cudaMemcpyToSymbol(coefficient, c, sizeof(c));
  std::vector<float> a(n, 0.0f), b(n), got(n);
  a[n / 2] = 1024.0f;
  float *da, *db;
  cudaMalloc(&da, n * 4), cudaMalloc(&db, n * 4);
  cudaMemcpy(da, a.data(), n * 4, cudaMemcpyHostToDevice);
  for (int s = 0; s < steps; ++s) {
    heat<<<(n + 31) / 32, 32>>>(da, db, n);
    std::swap(da, db);
    for (int i = 0; i < n; ++i) b[i] = 0.25f * (i ? a[i - 1] : 0) + 0.5f * a[i] + 0.25f * (i < n - 1 ? a[i + 1] : 0);
    a.swap(b);
  }
  cudaMemcpy(got.data(), da, n * 4, cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += fabsf(got[i] - a[i]) > 1e-3f;
  printf("middle %.3f wrong %d\n", got[n / 2], wrong);
}
