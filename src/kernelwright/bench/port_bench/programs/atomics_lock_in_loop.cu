// domain: atomics
// hazards: lock-in-warp
// expect: sum 2256 lock 0
#include <cstdio>

#include <cuda_runtime.h>

// Every lane takes the lock in turn: it is released inside the loop that waits for it.
__global__ void add(int* lock, int* sum) {
  bool done = false;
  while (!done) {
    if (atomicCAS(lock, 0, 1) == 0) {
      __threadfence();
      int v = *(volatile int*)sum;
      *(volatile int*)sum = v + threadIdx.x;
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    }
  }
}

int main() {
  int *d, got[2];
  cudaMalloc(&d, 8), cudaMemset(d, 0, 8);
  add<<<2, 48>>>(d, d + 1);
  cudaMemcpy(got, d, 8, cudaMemcpyDeviceToHost);
  printf("sum %d lock %d\n", got[1], got[0]);
}
