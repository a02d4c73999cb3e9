// domain: finance
// hazards: none
// expect: sum 2.319207 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>


// Yields of bonds by Newton's method: threads leave the loop at different times.
__global__ void yields(const double* price, double* out, int* rounds, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double y = 0.05;
  int r = 0;
  for (; r < 50; ++r) {
    double value = 0, slope = 0, d = 1;
    for (int t = 1; t <= 10; ++t) {
      d /= 1 + y;
      double cash = t == 10 ? 104.0 : 4.0;
      value += cash * d, slope -= t * cash * d / (1 + y);
    }
    double step = (value - price[i]) / slope;
    y -= step;
    if (fabs(step) < 1e-12) break;
  }
  out[i] = y, rounds[i] = r;
}

int main() {
  const int n = 60;
  double h[n], got[n], *a, *b;
  int rounds[n], *c, most = 0;
  for (int i = 0; i < n; ++i) h[i] = 80 + i * 0.75;
  cudaMalloc(&a, sizeof h), cudaMalloc(&b, sizeof got), cudaMalloc(&c, sizeof rounds);
  cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
  yields<<<2, 32>>>(a, b, c, n);
  cudaMemcpy(got, b, sizeof got, cudaMemcpyDeviceToHost), cudaMemcpy(rounds, c, sizeof rounds, cudaMemcpyDeviceToHost);
  bool right = true;
  double sum = 0;
  for (int i = 0; i < n; ++i) {
    double value = 0, d = 1;
    for (int t = 1; t <= 10; ++t) d /= 1 + got[i], value += (t == 10 ? 104.0 : 4.0) * d;
    right &= fabs(value - h[i]) < 1e-8, sum += got[i], most = rounds[i] > most ? rounds[i] : most;
  }
  printf("sum %.6f %s\n", sum, right && most < 50 ? "right" : "WRONG");
}
