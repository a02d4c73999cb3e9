// domain: device
// hazards: none
// expect: sum 39200 last 15 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>


// Memory of the host that the device writes itself, by a pointer with a type of its own.
struct Pair { int low, high; };
__global__ void fill(Pair* p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = {i, i * i};
}
__device__ Pair kept[4];
__global__ void raise() { kept[threadIdx.x].high += kept[threadIdx.x].low; }

int main() {
  const int n = 50;
  Pair *host, *device, *symbol, got[4] = {{1, 2}, {3, 4}, {5, 6}, {7, 8}};
  cudaHostAlloc(&host, n * sizeof(Pair), cudaHostAllocMapped);
  cudaHostGetDevicePointer(&device, host, 0);
  fill<<<1, 64>>>(device, n);
  cudaDeviceSynchronize();
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += host[i].high - host[i].low;
  cudaGetSymbolAddress((void**)&symbol, kept);
  cudaMemcpy(symbol, got, sizeof got, cudaMemcpyHostToDevice);
  raise<<<1, 4>>>();
  cudaMemcpyFromSymbol(got, kept, sizeof got);
  printf("sum %d last %d %s\n", sum, got[3].high, sum == 39200 && got[3].high == 15 ? "right" : "WRONG");
  cudaFreeHost(host);
}
