// domain: reduction
// hazards: none
// expect: sum 89961 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

// One launch: the block that finishes last adds up what the others left.
__device__ unsigned finished = 0;
__global__ void sum(const int* in, int* part, int* out, int n) {
  __shared__ int s[128];
  __shared__ bool is_last;
  int v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += in[i];
  s[threadIdx.x] = v;
  __syncthreads();
  for (int k = 64; k; k >>= 1) {
    if (threadIdx.x < k) s[threadIdx.x] += s[threadIdx.x + k];
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    part[blockIdx.x] = s[0];
    __threadfence();
    is_last = atomicInc(&finished, gridDim.x) == gridDim.x - 1;
  }
  __syncthreads();
  if (is_last && threadIdx.x == 0) {
    int total = 0;
    for (int b = 0; b < gridDim.x; ++b) total += part[b];
    *out = total;
  }
}

int main() {
  const int n = 10000, blocks = 9;
  std::vector<int> h(n);
  int want = 0;
  for (int i = 0; i < n; ++i) h[i] = i % 19, want += h[i];
  int *in, *part, *out, got;
  cudaMalloc(&in, n * 4), cudaMalloc(&part, blocks * 4), cudaMalloc(&out, 4);
  cudaMemcpy(in, h.data(), n * 4, cudaMemcpyHostToDevice);
  sum<<<blocks, 128>>>(in, part, out, n);
  cudaMemcpy(&got, out, 4, cudaMemcpyDeviceToHost);
  printf("sum %d %s\n", got, got == want ? "right" : "WRONG");
}
