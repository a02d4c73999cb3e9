// domain: linear-algebra
// hazards: none
// expect: sum 17280.000 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>


// One tridiagonal system a thread, interleaved so that neighbouring threads read side by side.
__global__ void solve(const double* low, const double* main_, const double* up, double* x, int n, int count) {
  int s = blockIdx.x * blockDim.x + threadIdx.x;
  if (s >= count) return;
  double c[16];
  c[0] = up[s] / main_[s], x[s] /= main_[s];
  for (int i = 1; i < n; ++i) {
    double m = 1.0 / (main_[i * count + s] - low[i * count + s] * c[i - 1]);
    c[i] = up[i * count + s] * m;
    x[i * count + s] = (x[i * count + s] - low[i * count + s] * x[(i - 1) * count + s]) * m;
  }
  for (int i = n - 2; i >= 0; --i) x[i * count + s] -= c[i] * x[(i + 1) * count + s];
}

int main() {
  const int n = 16, count = 40;
  std::vector<double> l(n * count, 1), d(n * count, 4), u(n * count, 1), x(n * count);
  for (int s = 0; s < count; ++s)
    for (int i = 0; i < n; ++i)  // the solution is i + s
      x[i * count + s] = 4.0 * (i + s) + (i ? i - 1 + s : 0) + (i + 1 < n ? i + 1 + s : 0);
  double *a, *b, *c, *y;
  const size_t bytes = n * count * 8;
  cudaMalloc(&a, bytes), cudaMalloc(&b, bytes), cudaMalloc(&c, bytes), cudaMalloc(&y, bytes);
  cudaMemcpy(a, l.data(), bytes, cudaMemcpyHostToDevice), cudaMemcpy(b, d.data(), bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(c, u.data(), bytes, cudaMemcpyHostToDevice), cudaMemcpy(y, x.data(), bytes, cudaMemcpyHostToDevice);
  solve<<<1, 64>>>(a, b, c, y, n, count);
  cudaMemcpy(x.data(), y, bytes, cudaMemcpyDeviceToHost);
  bool right = true;
  double sum = 0;
  for (int i = 0; i < n * count; ++i) {
    double off = x[i] - (i / count + i % count);
    right &= off < 1e-9 && off > -1e-9, sum += x[i];
  }
  printf("sum %.3f %s\n", sum, right ? "right" : "WRONG");
}
