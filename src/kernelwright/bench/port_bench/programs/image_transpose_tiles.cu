// domain: image
// hazards: none
// expect: corner 9447 wrong 0
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

#define TILE 16
__global__ void transpose(const int* in, int* out, int w, int h) {
  __shared__ int tile[TILE][TILE + 1];
  int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
  for (int j = 0; j < TILE; j += 8)
    if (x < w && y + j < h) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * w + x];
  __syncthreads();
  x = blockIdx.y * TILE + threadIdx.x, y = blockIdx.x * TILE + threadIdx.y;
  for (int j = 0; j < TILE; j += 8)
    if (x < h && y + j < w) out[(y + j) * h + x] = tile[threadIdx.x][threadIdx.y + j];
}

int main() {
  const int w = 45, h = 70;
  std::vector<int> in(w * h), got(w * h);
  for (int i = 0; i < w * h; ++i) in[i] = i * 3;
  int *di, *dout;
  cudaMalloc(&di, w * h * 4), cudaMalloc(&dout, w * h * 4);
  cudaMemcpy(di, in.data(), w * h * 4, cudaMemcpyHostToDevice);
  transpose<<<dim3((w + TILE - 1) / TILE, (h + TILE - 1) / TILE), dim3(TILE, 8)>>>(di, dout, w, h);
  cudaMemcpy(got.data(), dout, w * h * 4, cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int y = 0; y < h; ++y)
    for (int x = 0; x < w; ++x) wrong += got[x * h + y] != in[y * w + x];
  printf("corner %d wrong %d\n", got[w * h - 1], wrong);
}
