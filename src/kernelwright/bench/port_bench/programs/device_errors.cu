// domain: device
// hazards: none
// expect: 1 1 1 no error
#include <cstdio>

#include <cuda_runtime.h>

__global__ void nothing() {}

int main() {
  nothing<<<1, 2048>>>();
  cudaError_t first = cudaGetLastError(), second = cudaGetLastError();
  cudaError_t device = cudaSetDevice(1000);
  cudaGetLastError();
  nothing<<<1, 32>>>();
  cudaError_t last = cudaDeviceSynchronize();
  printf("%d %d %d %s\n", first == cudaErrorInvalidConfiguration, second == cudaSuccess, device == cudaErrorInvalidDevice, cudaGetErrorString(last));
}
