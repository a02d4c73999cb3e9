// domain: sparse
// hazards: shuffle-mask
// expect: checksum 1241 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>


// Blocks of four by four: eight lanes share a row of blocks and add by shuffles of width eight.
__global__ void multiply(const int* start, const int* column, const int* value, const int* x, int* y, int rows) {
  int group = (blockIdx.x * blockDim.x + threadIdx.x) / 8, lane = threadIdx.x % 8;
  bool is_row = group < rows;
  int sums[4] = {0, 0, 0, 0};
  for (int b = is_row ? start[group] + lane : 0; is_row && b < start[group + 1]; b += 8)
    for (int i = 0; i < 16; ++i) sums[i / 4] += value[b * 16 + i] * x[column[b] * 4 + i % 4];
  for (int k = 0; k < 4; ++k)
    for (int o = 4; o > 0; o /= 2) sums[k] += __shfl_down_sync(~0u, sums[k], o, 8);
  if (is_row && lane == 0)
    for (int k = 0; k < 4; ++k) y[group * 4 + k] = sums[k];
}

int main() {
  const int rows = 20;
  std::vector<int> start(1), column, value, x(rows * 4), y(rows * 4), want(rows * 4);
  for (int i = 0; i < rows * 4; ++i) x[i] = i % 13 - 6;
  for (int r = 0; r < rows; ++r) {
    for (int k = 0; k < r % 11; ++k) {
      column.push_back((r * 3 + k * 5) % rows);
      for (int i = 0; i < 16; ++i) {
        value.push_back((r + k * i) % 9 - 4);
        want[r * 4 + i / 4] += value.back() * x[column.back() * 4 + i % 4];
      }
    }
    start.push_back(column.size());
  }
  int *s, *c, *v, *a, *b, sum = 0;
  cudaMalloc(&s, start.size() * 4), cudaMalloc(&c, column.size() * 4), cudaMalloc(&v, value.size() * 4);
  cudaMalloc(&a, x.size() * 4), cudaMalloc(&b, y.size() * 4);
  cudaMemcpy(s, start.data(), start.size() * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(c, column.data(), column.size() * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(v, value.data(), value.size() * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(a, x.data(), x.size() * 4, cudaMemcpyHostToDevice);
  multiply<<<3, 64>>>(s, c, v, a, b, rows);
  cudaMemcpy(y.data(), b, y.size() * 4, cudaMemcpyDeviceToHost);
  for (size_t i = 0; i < y.size(); ++i) sum += y[i] * static_cast<int>(i % 5);
  printf("checksum %d %s\n", sum, y == want ? "right" : "WRONG");
}
