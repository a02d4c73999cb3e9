// domain: finance
// hazards: none
// expect: cents 63681 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>


// Average prices along paths in whole cents, each path from a counter of its own.
__host__ __device__ int payoff(unsigned path) {
  unsigned s = path * 2654435761u + 12345u;
  long sum = 0;
  int price = 10000;
  for (int t = 0; t < 24; ++t) {
    s ^= s << 13, s ^= s >> 17, s ^= s << 5;
    price += price * (static_cast<int>(s % 401) - 199) / 10000;
    sum += price;
  }
  int mean = sum / 24;
  return mean > 10000 ? mean - 10000 : 0;
}
__global__ void paths(unsigned long long* total, int n) {
  __shared__ unsigned long long s;
  if (threadIdx.x == 0) s = 0;
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&s, static_cast<unsigned long long>(payoff(i)));
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(total, s);
}

int main() {
  const int n = 500;
  unsigned long long *d, got, want = 0;
  for (int i = 0; i < n; ++i) want += payoff(i);
  cudaMalloc(&d, 8), cudaMemset(d, 0, 8);
  paths<<<4, 128>>>(d, n);
  cudaMemcpy(&got, d, 8, cudaMemcpyDeviceToHost);
  printf("cents %llu %s\n", got, got == want ? "right" : "WRONG");
}
