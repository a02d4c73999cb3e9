// domain: texture
// hazards: none
// expect: last 32.25 wrong 0
#include <cstdio>
#include <cstdlib>
#include <cstring>
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

__global__ void gather(cudaTextureObject_t tex, const int* index, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = tex1Dfetch<float>(tex, index[i]);
}

int main() {
  const int n = 200;
  std::vector<float> h(n), got(n);
  std::vector<int> index(n);
  for (int i = 0; i < n; ++i) h[i] = i * 0.25f, index[i] = i * 71 % n;
  float *data, *out;
  int* di;
  cudaMalloc(&data, n * 4), cudaMalloc(&out, n * 4), cudaMalloc(&di, n * 4);
  cudaMemcpy(data, h.data(), n * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(di, index.data(), n * 4, cudaMemcpyHostToDevice);
  cudaResourceDesc res;
  memset(&res, 0, sizeof(res));
  res.resType = cudaResourceTypeLinear;
  res.res.linear.devPtr = data;
  res.res.linear.desc = cudaCreateChannelDesc<float>();
  res.res.linear.sizeInBytes = n * 4;
  cudaTextureDesc how;
  memset(&how, 0, sizeof(how));
  how.readMode = cudaReadModeElementType;
  cudaTextureObject_t tex = 0;
  CHECK(cudaCreateTextureObject(&tex, &res, &how, NULL));
  gather<<<2, 128>>>(tex, di, out, n);
  cudaMemcpy(got.data(), out, n * 4, cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += got[i] != h[index[i]];
  printf("last %.2f wrong %d\n", got[n - 1], wrong);
  CHECK(cudaDestroyTextureObject(tex));
}
