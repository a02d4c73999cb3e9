// domain: stencil
// hazards: none
// expect: sum 11445.657 wrong 0
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

__global__ void step(const double* a, double* b, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x > 0 && y > 0 && x < w - 1 && y < h - 1)
    b[y * w + x] = 0.25 * (a[y * w + x - 1] + a[y * w + x + 1] + a[(y - 1) * w + x] + a[(y + 1) * w + x]);
}

int main() {
  const int w = 40, h = 24, steps = 20;
  std::vector<double> grid(w * h, 0.0);
  for (int x = 0; x < w; ++x) grid[x] = 100.0;
  std::vector<double> want = grid, next = grid, got(w * h);
  double *a, *b;
  cudaMalloc((void**)&a, w * h * sizeof(double));
  cudaMalloc((void**)&b, w * h * sizeof(double));
  cudaMemcpy(a, grid.data(), w * h * 8, cudaMemcpyHostToDevice);
  cudaMemcpy(b, grid.data(), w * h * 8, cudaMemcpyHostToDevice);
  dim3 block(16, 8), blocks((w + 15) / 16, (h + 7) / 8);
  for (int s = 0; s < steps; ++s) {
    step<<<blocks, block>>>(a, b, w, h);
    std::swap(a, b);
    for (int y = 1; y < h - 1; ++y)
      for (int x = 1; x < w - 1; ++x)
        next[y * w + x] = 0.25 * (want[y * w + x - 1] + want[y * w + x + 1] + want[(y - 1) * w + x] + want[(y + 1) * w + x]);
    std::swap(want, next);
  }
  cudaMemcpy(got.data(), a, w * h * 8, cudaMemcpyDeviceToHost);
  int wrong = 0;
  double sum = 0;
  for (int i = 0; i < w * h; ++i) wrong += fabs(got[i] - want[i]) > 1e-9, sum += got[i];
  printf("sum %.3f wrong %d\n", sum, wrong);
}
