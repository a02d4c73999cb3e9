// domain: sparse
// hazards: none
// expect: checksum -645 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>


// Rows padded to one length and stored column by column, so that lanes read side by side.
__global__ void multiply(const int* column, const int* value, const int* x, int* y, int rows, int width) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  int sum = 0;
  for (int k = 0; k < width; ++k) {
    int c = column[k * rows + r];
    if (c >= 0) sum += value[k * rows + r] * x[c];
  }
  y[r] = sum;
}

int main() {
  const int rows = 130, width = 5;
  std::vector<int> c(rows * width, -1), v(rows * width), x(rows), y(rows), want(rows);
  for (int i = 0; i < rows; ++i) x[i] = i % 17 - 8;
  for (int r = 0; r < rows; ++r)
    for (int k = 0; k < r % (width + 1); ++k) {
      c[k * rows + r] = (r * 7 + k * 31) % rows, v[k * rows + r] = r % 5 - k;
      want[r] += v[k * rows + r] * x[c[k * rows + r]];
    }
  int *a, *b, *d, *e, sum = 0;
  cudaMalloc(&a, c.size() * 4), cudaMalloc(&b, v.size() * 4), cudaMalloc(&d, rows * 4), cudaMalloc(&e, rows * 4);
  cudaMemcpy(a, c.data(), c.size() * 4, cudaMemcpyHostToDevice), cudaMemcpy(b, v.data(), v.size() * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(d, x.data(), rows * 4, cudaMemcpyHostToDevice);
  multiply<<<3, 64>>>(a, b, d, e, rows, width);
  cudaMemcpy(y.data(), e, rows * 4, cudaMemcpyDeviceToHost);
  for (int r = 0; r < rows; ++r) sum += y[r] * (r % 7);
  printf("checksum %d %s\n", sum, y == want ? "right" : "WRONG");
}
