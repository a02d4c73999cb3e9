// domain: streams
// hazards: none
// expect: wrong 0
#include <cstdio>
#include <cstdlib>

#include <cuda_runtime.h>

#define CHECK(call)                                                        \
  do {                                                                     \
    cudaError_t error = (call);                                            \
    if (error != cudaSuccess) {                                            \
      printf("%s: %s\n", #call, cudaGetErrorString(error));                \
      exit(1);                                                             \
    }                                                                      \
  } while (0)

__global__ void triple(int* a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] *= 3;
}

int main() {
  const int n = 1024, parts = 4, size = n / parts;
  int *h, *d;
  CHECK(cudaMallocHost((void**)&h, n * 4));
  CHECK(cudaMalloc((void**)&d, n * 4));
  for (int i = 0; i < n; ++i) h[i] = i;
  cudaStream_t stream[parts];
  for (auto& s : stream) CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  for (int p = 0; p < parts; ++p) {
    CHECK(cudaMemcpyAsync(d + p * size, h + p * size, size * 4, cudaMemcpyHostToDevice, stream[p]));
    triple<<<size / 64, 64, 0, stream[p]>>>(d + p * size, size);
    CHECK(cudaMemcpyAsync(h + p * size, d + p * size, size * 4, cudaMemcpyDeviceToHost, stream[p]));
  }
  for (auto& s : stream) { CHECK(cudaStreamSynchronize(s)); CHECK(cudaStreamDestroy(s)); }
  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += h[i] != 3 * i;
  printf("wrong %d\n", wrong);
  CHECK(cudaFreeHost(h)); CHECK(cudaFree(d));
}
