// domain: device
// hazards: none
// expect: usable 1 wrong 0
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

__global__ void square(int* a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] *= a[i];
}

int main() {
  int grid = 0, block = 0, active = 0, n = 500;
  CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, square, 0, 0));
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&active, square, block, 0));
  cudaFuncAttributes attributes;
  CHECK(cudaFuncGetAttributes(&attributes, (const void*)square));
  std::vector<int> h(n);
  for (int i = 0; i < n; ++i) h[i] = i;
  int* d;
  cudaMalloc(&d, n * 4);
  cudaMemcpy(d, h.data(), n * 4, cudaMemcpyHostToDevice);
  square<<<(n + block - 1) / block, block>>>(d, n);
  cudaMemcpy(h.data(), d, n * 4, cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += h[i] != i * i;
  printf("usable %d wrong %d\n", grid > 0 && block > 0 && active > 0 && attributes.maxThreadsPerBlock > 0, wrong);
}
