// domain: linear-algebra
// hazards: shuffle-mask hard-coded-32 launch-bounds
// expect: sum 0 wrong 0
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

template <int ROWS>
__global__ __launch_bounds__(32 * ROWS, 2) void gemv(const float* A, const float* x, float* y, int m, int n) {
  int row = blockIdx.x * ROWS + threadIdx.y;
  float sum = 0.0f;
  if (row < m)
    for (int k = threadIdx.x; k < n; k += 32) sum += A[row * n + k] * x[k];
#pragma unroll
  for (int o = 16; o >= 1; o /= 2) sum += __shfl_xor_sync(0xffffffff, sum, o, 32);
  if (threadIdx.x == 0 && row < m) y[row] = sum;
}

int main() {
  const int m = 45, n = 83;
  std::vector<float> a(m * n), x(n), y(m);
  for (int i = 0; i < m * n; ++i) a[i] = i % 9 - 4;
  for (int i = 0; i < n; ++i) x[i] = i % 4;
  float *da, *dx, *dy;
  cudaMalloc(&da, m * n * 4), cudaMalloc(&dx, n * 4), cudaMalloc(&dy, m * 4);
  cudaMemcpy(da, a.data(), m * n * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(dx, x.data(), n * 4, cudaMemcpyHostToDevice);
  gemv<4><<<(m + 3) / 4, dim3(32, 4)>>>(da, dx, dy, m, n);
  cudaMemcpy(y.data(), dy, m * 4, cudaMemcpyDeviceToHost);
  int wrong = 0;
  double sum = 0;
  for (int i = 0; i < m; ++i) {
    float want = 0;
    for (int k = 0; k < n; ++k) want += a[i * n + k] * x[k];
    wrong += want != y[i], sum += y[i];
  }
  printf("sum %.0f wrong %d\n", sum, wrong);
}
