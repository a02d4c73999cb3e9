// domain: texture
// hazards: none
// expect: last 2396 wrong 0
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

__global__ void shift(cudaTextureObject_t tex, int* out, int w, int h, int dx) {
  int x = threadIdx.x, y = blockIdx.x;
  out[y * w + x] = tex2D<int>(tex, x + 0.5f, y + 0.5f) + dx;
}

int main() {
  const int w = 48, h = 10;
  std::vector<int> in(w * h), got(w * h);
  for (int i = 0; i < w * h; ++i) in[i] = i * 5;
  int *d, *out;
  size_t pitch;
  CHECK(cudaMallocPitch(&d, &pitch, w * 4, h));
  CHECK(cudaMemcpy2D(d, pitch, in.data(), w * 4, w * 4, h, cudaMemcpyHostToDevice));
  cudaResourceDesc res = {};
  res.resType = cudaResourceTypePitch2D;
  res.res.pitch2D.devPtr = d, res.res.pitch2D.desc = cudaCreateChannelDesc<int>();
  res.res.pitch2D.width = w, res.res.pitch2D.height = h, res.res.pitch2D.pitchInBytes = pitch;
  cudaTextureDesc how = {};
  how.filterMode = cudaFilterModePoint;
  how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
  cudaTextureObject_t tex;
  CHECK(cudaCreateTextureObject(&tex, &res, &how, nullptr));
  cudaMalloc(&out, w * h * 4);
  shift<<<h, w>>>(tex, out, w, h, 1);
  cudaMemcpy(got.data(), out, w * h * 4, cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < w * h; ++i) wrong += got[i] != in[i] + 1;
  printf("last %d wrong %d\n", got[w * h - 1], wrong);
}
