// domain: device
// hazards: none
// expect: sum 1444 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>


// Functions by pointer: a table on the device, filled on the device, indexed by data.
typedef int (*Operation)(int, int);
__device__ int plus(int a, int b) { return a + b; }
__device__ int times(int a, int b) { return a * b; }
__device__ int larger(int a, int b) { return a > b ? a : b; }
__device__ Operation table[3];
__global__ void fill() { table[0] = plus, table[1] = times, table[2] = larger; }
__global__ void apply(const int* which, int* out, int n) {
  int i = threadIdx.x;
  if (i < n) out[i] = table[which[i]](i, 7);
}

int main() {
  const int n = 30;
  int h[n], got[n], *a, *b, sum = 0;
  for (int i = 0; i < n; ++i) h[i] = i * 5 % 3;
  cudaMalloc(&a, sizeof h), cudaMalloc(&b, sizeof got);
  cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
  fill<<<1, 1>>>();
  apply<<<1, 32>>>(a, b, n);
  cudaMemcpy(got, b, sizeof got, cudaMemcpyDeviceToHost);
  bool right = true;
  for (int i = 0; i < n; ++i) right &= got[i] == (h[i] == 0 ? i + 7 : h[i] == 1 ? i * 7 : i > 7 ? i : 7), sum += got[i];
  printf("sum %d %s\n", sum, right ? "right" : "WRONG");
}
