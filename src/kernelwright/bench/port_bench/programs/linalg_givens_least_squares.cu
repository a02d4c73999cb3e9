// domain: linear-algebra
// hazards: none
// expect: sum 1162.4476 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>


// Least squares of small systems by Givens rotations, one system a thread.
__global__ void fit(const double* y, double* line, int points, int n) {
  int s = blockIdx.x * blockDim.x + threadIdx.x;
  if (s >= n) return;
  double r[2][3] = {{0, 0, 0}, {0, 0, 0}};
  for (int i = 0; i < points; ++i) {
    double row[3] = {1, static_cast<double>(i), y[s * points + i]};
    for (int k = 0; k < 2; ++k) {
      double h = hypot(r[k][k], row[k]);
      if (h == 0) continue;
      double c = r[k][k] / h, t = row[k] / h;
      for (int j = k; j < 3; ++j) {
        double up = c * r[k][j] + t * row[j];
        row[j] = c * row[j] - t * r[k][j], r[k][j] = up;
      }
    }
  }
  line[2 * s + 1] = r[1][2] / r[1][1];
  line[2 * s] = (r[0][2] - r[0][1] * line[2 * s + 1]) / r[0][0];
}

int main() {
  const int n = 40, points = 12;
  std::vector<double> y(n * points), got(2 * n);
  for (int s = 0; s < n; ++s)
    for (int i = 0; i < points; ++i) y[s * points + i] = s + 0.5 * s * i + (i % 2 ? 1 : -1);
  double *a, *b, sum = 0;
  cudaMalloc(&a, y.size() * 8), cudaMalloc(&b, got.size() * 8);
  cudaMemcpy(a, y.data(), y.size() * 8, cudaMemcpyHostToDevice);
  fit<<<1, 64>>>(a, b, points, n);
  cudaMemcpy(got.data(), b, got.size() * 8, cudaMemcpyDeviceToHost);
  bool right = true;
  for (int s = 0; s < n; ++s) {
    double x1 = 0, x2 = 0, y1 = 0, xy = 0;
    for (int i = 0; i < points; ++i) x1 += i, x2 += i * i, y1 += y[s * points + i], xy += i * y[s * points + i];
    double slope = (points * xy - x1 * y1) / (points * x2 - x1 * x1);
    right &= fabs(got[2 * s + 1] - slope) < 1e-9 && fabs(got[2 * s] - (y1 - slope * x1) / points) < 1e-9;
    sum += got[2 * s] + got[2 * s + 1];
  }
  printf("sum %.4f %s\n", sum, right ? "right" : "WRONG");
}
