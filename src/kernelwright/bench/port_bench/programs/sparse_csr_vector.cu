// domain: sparse
// hazards: shuffle-mask hard-coded-32
// expect: sum -8 wrong 0
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

// One warp of 32 threads a row.
__global__ void spmv(int rows, const int* start, const int* col, const float* val, const float* x, float* y) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, lane = threadIdx.x & 31;
  if (row >= rows) return;
  float sum = 0;
  for (int i = start[row] + lane; i < start[row + 1]; i += 32) sum += val[i] * x[col[i]];
  for (int o = 16; o > 0; o >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, o);
  if (lane == 0) y[row] = sum;
}

int main() {
  const int rows = 50, cols = 64;
  std::vector<int> start(1, 0), col;
  std::vector<float> val, x(cols), y(rows);
  for (int r = 0; r < rows; ++r) {
    for (int c = r % 3; c < cols; c += 1 + r % 4) col.push_back(c), val.push_back((r + c) % 7 - 3);
    start.push_back((int)col.size());
  }
  for (int c = 0; c < cols; ++c) x[c] = c % 5;
  int *ds, *dc;
  float *dv, *dx, *dy;
  cudaMalloc(&ds, start.size() * 4), cudaMalloc(&dc, col.size() * 4), cudaMalloc(&dv, val.size() * 4);
  cudaMalloc(&dx, cols * 4), cudaMalloc(&dy, rows * 4);
  cudaMemcpy(ds, start.data(), start.size() * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(dc, col.data(), col.size() * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(dv, val.data(), val.size() * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(dx, x.data(), cols * 4, cudaMemcpyHostToDevice);
  spmv<<<(rows * 32 + 127) / 128, 128>>>(rows, ds, dc, dv, dx, dy);
  cudaMemcpy(y.data(), dy, rows * 4, cudaMemcpyDeviceToHost);
  int wrong = 0;
  double sum = 0;
  for (int r = 0; r < rows; ++r) {
    float want = 0;
    for (int i = start[r]; i < start[r + 1]; ++i) want += val[i] * x[col[i]];
    wrong += want != y[r], sum += y[r];
  }
  printf("sum %.0f wrong %d\n", sum, wrong);
}
