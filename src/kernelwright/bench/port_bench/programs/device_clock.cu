// domain: device
// hazards: clock
// expect: grows 64 of 64 waited yes
// Cycle counters: only that they grow, and a wait that is counted in them, is the same everywhere.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void wait_for(long long cycles, int* grown, int* waited) {
  const long long start = clock64();
  const clock_t early = clock();
  while (clock64() - start < cycles) {}
  if (clock() != early) atomicAdd(grown, 1);
  if (threadIdx.x == 0) *waited = clock64() - start >= cycles;
}

int main() {
  int* out;
  cudaMallocManaged(&out, 2 * sizeof(int));
  out[0] = out[1] = 0;
  wait_for<<<1, 64>>>(1000, out, out + 1);
  cudaDeviceSynchronize();
  printf("grows %d of 64 waited %s\n", out[0], out[1] ? "yes" : "no");
}
