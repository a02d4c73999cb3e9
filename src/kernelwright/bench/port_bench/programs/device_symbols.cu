// domain: device
// hazards: none
// expect: counter 25 again 25 bytes 16
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

__device__ int counter = 5;
__constant__ int factors[4];
__global__ void work() { atomicAdd(&counter, factors[threadIdx.x & 3]); }

int main() {
  int h[4] = {1, 2, 3, 4}, got;
  void* at;
  size_t bytes;
  CHECK(cudaMemcpyToSymbol(factors, h, sizeof(h), 0, cudaMemcpyHostToDevice));
  work<<<1, 8>>>();
  CHECK(cudaMemcpyFromSymbol(&got, counter, sizeof(int)));
  CHECK(cudaGetSymbolSize(&bytes, factors));
  CHECK(cudaGetSymbolAddress(&at, counter));
  int again;
  CHECK(cudaMemcpy(&again, at, 4, cudaMemcpyDeviceToHost));
  printf("counter %d again %d bytes %d\n", got, again, (int)bytes);
}
