// domain: sparse
// hazards: none
// expect: y0 -2 y39 32 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

__global__ void coo(int nnz, const int* row, const int* col, const int* val, const int* x, int* y) {
  for (int i = threadIdx.x + blockDim.x * blockIdx.x; i < nnz; i += blockDim.x * gridDim.x)
    atomicAdd(&y[row[i]], val[i] * x[col[i]]);
}

int main() {
  const int n = 40, nnz = 400;
  std::vector<int> row(nnz), col(nnz), val(nnz), x(n), want(n, 0), y(n);
  for (int i = 0; i < n; ++i) x[i] = i + 1;
  for (int i = 0; i < nnz; ++i) {
    row[i] = i * 17 % n, col[i] = i * 29 % n, val[i] = i % 6 - 2;
    want[row[i]] += val[i] * x[col[i]];
  }
  int *dr, *dc, *dv, *dx, *dy;
  cudaMalloc(&dr, nnz * 4), cudaMalloc(&dc, nnz * 4), cudaMalloc(&dv, nnz * 4);
  cudaMalloc(&dx, n * 4), cudaMalloc(&dy, n * 4);
  cudaMemcpy(dr, row.data(), nnz * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(dc, col.data(), nnz * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(dv, val.data(), nnz * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(dx, x.data(), n * 4, cudaMemcpyHostToDevice);
  cudaMemset(dy, 0, n * 4);
  coo<<<3, 64>>>(nnz, dr, dc, dv, dx, dy);
  cudaMemcpy(y.data(), dy, n * 4, cudaMemcpyDeviceToHost);
  printf("y0 %d y39 %d %s\n", y[0], y[39], y == want ? "right" : "WRONG");
}
