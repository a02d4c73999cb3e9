// domain: sparse
// hazards: none
// expect: first -1 last 9998 wrong 0
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

__global__ void spmv(int rows, const int* __restrict__ start, const int* __restrict__ col,
                     const double* __restrict__ val, const double* __restrict__ x, double* y) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r < rows) {
    double sum = 0;
    for (int i = start[r]; i < start[r + 1]; ++i) sum += val[i] * x[col[i]];
    y[r] = sum;
  }
}

int main() {
  const int n = 100;  // the matrix of a chain: 2 on the diagonal, -1 beside it
  std::vector<int> start(1, 0), col;
  std::vector<double> val, x(n), y(n);
  for (int r = 0; r < n; ++r) {
    for (int c = r - 1; c <= r + 1; ++c)
      if (c >= 0 && c < n) col.push_back(c), val.push_back(c == r ? 2.0 : -1.0);
    start.push_back((int)col.size());
    x[r] = r * r;
  }
  int *ds, *dc;
  double *dv, *dx, *dy;
  cudaMalloc(&ds, start.size() * 4), cudaMalloc(&dc, col.size() * 4), cudaMalloc(&dv, val.size() * 8);
  cudaMalloc(&dx, n * 8), cudaMalloc(&dy, n * 8);
  cudaMemcpy(ds, start.data(), start.size() * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(dc, col.data(), col.size() * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(dv, val.data(), val.size() * 8, cudaMemcpyHostToDevice);
  cudaMemcpy(dx, x.data(), n * 8, cudaMemcpyHostToDevice);
  spmv<<<2, 64>>>(n, ds, dc, dv, dx, dy);
  cudaMemcpy(y.data(), dy, n * 8, cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int r = 1; r < n - 1; ++r) wrong += y[r] != -2.0;
  printf("first %.0f last %.0f wrong %d\n", y[0], y[n - 1], wrong);
}
