// domain: texture
// hazards: none
// expect: wrong 0
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call)                                                        \
  do {                                                                     \
    cudaError_t error = (call);                                            \
    if (error != cudaSuccess) {                                            \
      printf("%s: %s\n", #call, cudaGetErrorString(error));                \
      exit(1);                                                             \
    }                                                                      \
  } while (0)

__global__ void zoom(cudaTextureObject_t tex, float* out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < w && y < h) out[y * w + x] = tex2D<float>(tex, x * 0.5f + 0.75f, y * 0.5f + 0.5f);
}

int main() {
  const int w = 16, h = 12;
  std::vector<float> in(w * h), got(4 * w * h);
  for (int i = 0; i < w * h; ++i) in[i] = (float)(i * 13 % 31);
  cudaChannelFormatDesc desc = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
  cudaArray_t array;
  CHECK(cudaMallocArray(&array, &desc, w, h));
  CHECK(cudaMemcpy2DToArray(array, 0, 0, in.data(), w * 4, w * 4, h, cudaMemcpyHostToDevice));
  cudaResourceDesc res = {};
  res.resType = cudaResourceTypeArray;
  res.res.array.array = array;
  cudaTextureDesc how = {};
  how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
  how.filterMode = cudaFilterModeLinear;
  how.readMode = cudaReadModeElementType;
  cudaTextureObject_t tex;
  CHECK(cudaCreateTextureObject(&tex, &res, &how, nullptr));
  float* out;
  cudaMalloc(&out, got.size() * 4);
  zoom<<<dim3(2, 3), dim3(16, 8)>>>(tex, out, 2 * w, 2 * h);
  cudaMemcpy(got.data(), out, got.size() * 4, cudaMemcpyDeviceToHost);
  auto at = [&](int x, int y) { return in[std::min(std::max(y, 0), h - 1) * w + std::min(std::max(x, 0), w - 1)]; };
  int wrong = 0;
  double sum = 0;
  for (int y = 0; y < 2 * h; ++y)
    for (int x = 0; x < 2 * w; ++x) {
      float fx = x * 0.5f + 0.25f, fy = y * 0.5f, a = fx - floorf(fx), b = fy - floorf(fy);
      int i = (int)fx, j = (int)fy;
      float want = (1 - a) * (1 - b) * at(i, j) + a * (1 - b) * at(i + 1, j) + (1 - a) * b * at(i, j + 1) + a * b * at(i + 1, j + 1);
      wrong += fabsf(want - got[y * 2 * w + x]) > 0.02f, sum += got[y * 2 * w + x];
    }
  printf("wrong %d\n", wrong);
  CHECK(cudaDestroyTextureObject(tex)); CHECK(cudaFreeArray(array));
}
