// domain: image
// hazards: none
// expect: all 12001 box 1998 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>


// Sums over all pixels above and to the left: rows first, then columns.
__global__ void rows(const int* in, int* out, int w, int h) {
  int y = blockIdx.x * blockDim.x + threadIdx.x;
  for (int x = 0, sum = 0; y < h && x < w; ++x) out[y * w + x] = sum += in[y * w + x];
}
__global__ void columns(int* p, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  for (int y = 1; x < w && y < h; ++y) p[y * w + x] += p[(y - 1) * w + x];
}

int main() {
  const int w = 50, h = 30;
  std::vector<int> in(w * h), got(w * h);
  long want = 0;
  for (int i = 0; i < w * h; ++i) in[i] = i * 31 % 17, want += in[i];
  int *a, *b;
  cudaMalloc(&a, w * h * 4), cudaMalloc(&b, w * h * 4);
  cudaMemcpy(a, in.data(), w * h * 4, cudaMemcpyHostToDevice);
  rows<<<1, 32>>>(a, b, w, h);
  columns<<<1, 64>>>(b, w, h);
  cudaMemcpy(got.data(), b, w * h * 4, cudaMemcpyDeviceToHost);
  int box = got[20 * w + 40] - got[10 * w + 40] - got[20 * w + 15] + got[10 * w + 15], sum = 0;
  for (int y = 11; y <= 20; ++y)
    for (int x = 16; x <= 40; ++x) sum += in[y * w + x];
  printf("all %d box %d %s\n", got[w * h - 1], box, box == sum && got[w * h - 1] == want ? "right" : "WRONG");
}
