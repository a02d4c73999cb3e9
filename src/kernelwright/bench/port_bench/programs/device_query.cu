// domain: device
// hazards: warpSize
// expect: device 0 threads 1024 warps of a block 32 memory right
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

int main() {
  int count = 0, device = -1, threads = 0, warp = 0;
  CHECK(cudaGetDeviceCount(&count));
  CHECK(cudaSetDevice(0));
  CHECK(cudaGetDevice(&device));
  cudaDeviceProp prop;
  CHECK(cudaGetDeviceProperties(&prop, device));
  CHECK(cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerBlock, device));
  size_t free_bytes, total;
  CHECK(cudaMemGetInfo(&free_bytes, &total));
  warp = prop.warpSize;
  printf("device %d threads %d warps of a block %d memory %s\n", device, threads, threads / warp, free_bytes <= total && prop.totalGlobalMem ? "right" : "WRONG");
}
