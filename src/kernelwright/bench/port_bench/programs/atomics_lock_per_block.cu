// domain: atomics
// hazards: none
// expect: balance 60
#include <cstdio>

#include <cuda_runtime.h>

// One thread of each block takes the lock, so lanes of one warp never wait for one another.
__device__ int lock = 0;
__global__ void deposit(volatile int* balance, int times) {
  if (threadIdx.x == 0) {
    for (int i = 0; i < times; ++i) {
      while (atomicCAS(&lock, 0, 1) != 0) {}
      __threadfence();
      *balance = *balance + 1;
      __threadfence();
      atomicExch(&lock, 0);
    }
  }
}

int main() {
  int *d, got;
  cudaMalloc(&d, 4), cudaMemset(d, 0, 4);
  deposit<<<12, 64>>>(d, 5);
  cudaMemcpy(&got, d, 4, cudaMemcpyDeviceToHost);
  printf("balance %d\n", got);
}
