// domain: streams
// hazards: none
// expect: value 11 time right
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

__global__ void add(int* a, int v) { a[threadIdx.x] += v; }

int main() {
  int *d, h[32];
  cudaMalloc(&d, 128), cudaMemset(d, 0, 128);
  cudaStream_t one, two;
  cudaEvent_t ready, start, stop;
  cudaStreamCreate(&one), cudaStreamCreate(&two);
  cudaEventCreateWithFlags(&ready, cudaEventDisableTiming);
  cudaEventCreate(&start), cudaEventCreate(&stop);
  cudaEventRecord(start, one);
  add<<<1, 32, 0, one>>>(d, 1);
  cudaEventRecord(ready, one);
  cudaStreamWaitEvent(two, ready, 0);
  add<<<1, 32, 0, two>>>(d, 10);
  cudaEventRecord(stop, two);
  cudaEventSynchronize(stop);
  float ms = -1;
  CHECK(cudaEventElapsedTime(&ms, start, stop));
  cudaMemcpy(h, d, 128, cudaMemcpyDeviceToHost);
  printf("value %d time %s\n", h[31], ms >= 0 ? "right" : "WRONG");
  cudaEventDestroy(ready), cudaStreamDestroy(one), cudaStreamDestroy(two);
}
