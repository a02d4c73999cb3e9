// domain: machine-learning
// hazards: none
// expect: checksum 3087270 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>


// Products of quantised rows: four signed bytes at once.
__global__ void products(const int* a, const int* b, int* out, int words) {
  int sum = 0;
  for (int i = 0; i < words; ++i) sum = __dp4a(a[blockIdx.x * words + i], b[threadIdx.x * words + i], sum);
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

int main() {
  const int rows = 12, columns = 40, words = 9;
  std::vector<signed char> a(rows * words * 4), b(columns * words * 4);
  for (size_t i = 0; i < a.size(); ++i) a[i] = i * 29 % 255 - 127;
  for (size_t i = 0; i < b.size(); ++i) b[i] = i * 43 % 255 - 127;
  std::vector<int> got(rows * columns);
  int *x, *y, *z;
  cudaMalloc(&x, a.size()), cudaMalloc(&y, b.size()), cudaMalloc(&z, got.size() * 4);
  cudaMemcpy(x, a.data(), a.size(), cudaMemcpyHostToDevice);
  cudaMemcpy(y, b.data(), b.size(), cudaMemcpyHostToDevice);
  products<<<rows, columns>>>(x, y, z, words);
  cudaMemcpy(got.data(), z, got.size() * 4, cudaMemcpyDeviceToHost);
  bool right = true;
  long all = 0;
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < columns; ++c) {
      int want = 0;
      for (int i = 0; i < words * 4; ++i) want += a[r * words * 4 + i] * b[c * words * 4 + i];
      right &= want == got[r * columns + c], all += 1L * want * (c + 1);
    }
  printf("checksum %ld %s\n", all, right ? "right" : "WRONG");
}
