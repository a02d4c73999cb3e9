// domain: image
// hazards: none
// expect: sum 123242 wrong 0
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

__global__ void sobel(const unsigned char* in, unsigned char* out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  int gx = 0, gy = 0;
  for (int j = -1; j <= 1; ++j)
    for (int i = -1; i <= 1; ++i) {
      int v = in[min(max(y + j, 0), h - 1) * w + min(max(x + i, 0), w - 1)];
      gx += v * i * (j ? 1 : 2), gy += v * j * (i ? 1 : 2);
    }
  out[y * w + x] = (unsigned char)min(abs(gx) + abs(gy), 255);
}

int main() {
  const int w = 50, h = 37;
  std::vector<unsigned char> in(w * h), got(w * h);
  for (int i = 0; i < w * h; ++i) in[i] = (i % w / 10 + i / w / 9) % 2 * 40 + i % 7;
  unsigned char *di, *dout;
  cudaMalloc(&di, w * h), cudaMalloc(&dout, w * h);
  cudaMemcpy(di, in.data(), w * h, cudaMemcpyHostToDevice);
  sobel<<<dim3((w + 15) / 16, (h + 15) / 16), dim3(16, 16)>>>(di, dout, w, h);
  cudaMemcpy(got.data(), dout, w * h, cudaMemcpyDeviceToHost);
  int wrong = 0, sum = 0;
  for (int y = 0; y < h; ++y)
    for (int x = 0; x < w; ++x) {
      auto at = [&](int i, int j) { return (int)in[std::min(std::max(y + j, 0), h - 1) * w + std::min(std::max(x + i, 0), w - 1)]; };
      int gx = at(1, -1) + 2 * at(1, 0) + at(1, 1) - at(-1, -1) - 2 * at(-1, 0) - at(-1, 1);
      int gy = at(-1, 1) + 2 * at(0, 1) + at(1, 1) - at(-1, -1) - 2 * at(0, -1) - at(1, -1);
      wrong += got[y * w + x] != std::min(abs(gx) + abs(gy), 255), sum += got[y * w + x];
    }
  printf("sum %d wrong %d\n", sum, wrong);
}
