// domain: stencil
// hazards: shuffle-mask hard-coded-32
// expect: alive 537 right
#include <algorithm>
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

// Conway's Life on a torus 32 cells wide: neighbours in a row come from the neighbouring lanes.
__global__ void life(const unsigned char* in, unsigned char* out, int h) {
  int lane = threadIdx.x, y = blockIdx.x * blockDim.y + threadIdx.y;
  int up = (y + h - 1) % h, down = (y + 1) % h;
  int column = in[up * 32 + lane] + in[y * 32 + lane] + in[down * 32 + lane];
  int left = __shfl_sync(0xffffffffu, column, (lane + 31) & 31);
  int right = __shfl_sync(0xffffffffu, column, (lane + 1) & 31);
  int alive = in[y * 32 + lane], near = left + column + right - alive;
  out[y * 32 + lane] = near == 3 || (alive && near == 2);
}

int main() {
  const int w = 32, h = 48;
  std::vector<unsigned char> a(w * h), b(w * h), got(w * h);
  for (int i = 0; i < w * h; ++i) a[i] = (i * 7 + i / 5) % 3 == 0;
  unsigned char *da, *db;
  cudaMalloc(&da, w * h), cudaMalloc(&db, w * h);
  cudaMemcpy(da, a.data(), w * h, cudaMemcpyHostToDevice);
  for (int s = 0; s < 6; ++s) {
    life<<<h / 4, dim3(32, 4)>>>(da, db, h);
    std::swap(da, db);
    for (int y = 0; y < h; ++y)
      for (int x = 0; x < w; ++x) {
        int near = -a[y * w + x];
        for (int dy = -1; dy < 2; ++dy)
          for (int dx = -1; dx < 2; ++dx) near += a[(y + dy + h) % h * w + (x + dx + w) % w];
        b[y * w + x] = near == 3 || (a[y * w + x] && near == 2);
      }
    a.swap(b);
  }
  cudaMemcpy(got.data(), da, w * h, cudaMemcpyDeviceToHost);
  int alive = 0;
  for (auto v : got) alive += v;
  printf("alive %d %s\n", alive, got == a ? "right" : "WRONG");
}
