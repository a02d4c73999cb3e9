// domain: reduction
// hazards: shuffle-mask hard-coded-32
// expect: sum 1000472 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

__inline__ __device__ int warp_sum(int v) {
  for (int offset = 16; offset > 0; offset /= 2) v += __shfl_down_sync(0xffffffff, v, offset);
  return v;
}
__global__ void sum(const int* in, int* out, int n) {
  static __shared__ int partial[32];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32, v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += in[i];
  v = warp_sum(v);
  if (lane == 0) partial[warp] = v;
  __syncthreads();
  v = threadIdx.x < blockDim.x / 32 ? partial[lane] : 0;
  if (warp == 0) v = warp_sum(v);
  if (threadIdx.x == 0) atomicAdd(out, v);
}

int main() {
  const int n = 20011;
  std::vector<int> h(n);
  long want = 0;
  for (int i = 0; i < n; ++i) h[i] = (i * 7919) % 101, want += h[i];
  int *in, *out, got = 0;
  cudaMalloc(&in, n * sizeof(int)), cudaMalloc(&out, sizeof(int));
  cudaMemcpy(in, h.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemset(out, 0, sizeof(int));
  sum<<<6, 256>>>(in, out, n);
  cudaMemcpy(&got, out, sizeof(int), cudaMemcpyDeviceToHost);
  printf("sum %d %s\n", got, got == want ? "right" : "WRONG");
}
