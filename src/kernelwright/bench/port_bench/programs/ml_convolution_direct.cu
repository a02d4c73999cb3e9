// domain: machine-learning
// hazards: constant
// expect: sum 20392 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>


// A convolution with three channels and a stride, its filters in constant memory.
__constant__ int filter[4][3][3][3];
__global__ void convolve(const int* in, int* out, int w, int h, int ow, int oh) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y, k = blockIdx.z;
  if (x >= ow) return;
  int sum = 0;
  for (int c = 0; c < 3; ++c)
    for (int j = 0; j < 3; ++j)
      for (int i = 0; i < 3; ++i) sum += filter[k][c][j][i] * in[(c * h + 2 * y + j) * w + 2 * x + i];
  out[(k * oh + y) * ow + x] = sum > 0 ? sum : 0;
}

int main() {
  const int w = 35, h = 21, ow = (w - 3) / 2 + 1, oh = (h - 3) / 2 + 1;
  int f[4][3][3][3];
  for (int i = 0; i < 108; ++i) (&f[0][0][0][0])[i] = i * 5 % 7 - 3;
  std::vector<int> in(3 * w * h), got(4 * ow * oh);
  for (size_t i = 0; i < in.size(); ++i) in[i] = i * 31 % 19 - 9;
  int *a, *b;
  cudaMemcpyToSymbol(filter, f, sizeof f);
  cudaMalloc(&a, in.size() * 4), cudaMalloc(&b, got.size() * 4);
  cudaMemcpy(a, in.data(), in.size() * 4, cudaMemcpyHostToDevice);
  convolve<<<dim3(1, oh, 4), 32>>>(a, b, w, h, ow, oh);
  cudaMemcpy(got.data(), b, got.size() * 4, cudaMemcpyDeviceToHost);
  bool right = true;
  long all = 0;
  for (int k = 0; k < 4; ++k)
    for (int y = 0; y < oh; ++y)
      for (int x = 0; x < ow; ++x) {
        int sum = 0;
        for (int c = 0; c < 3; ++c)
          for (int j = 0; j < 9; ++j) sum += f[k][c][j / 3][j % 3] * in[(c * h + 2 * y + j / 3) * w + 2 * x + j % 3];
        right &= got[(k * oh + y) * ow + x] == (sum > 0 ? sum : 0), all += got[(k * oh + y) * ow + x];
      }
  printf("sum %ld %s\n", all, right ? "right" : "WRONG");
}
