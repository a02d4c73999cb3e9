// domain: atomics
// hazards: activemask lane-mask shuffle-mask
// expect: kept 398 sum 41700 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

__device__ int take(int* counter) {
  unsigned active = __activemask();
  int lane = threadIdx.x & 31, leader = __ffs(active) - 1, base = 0;
  if (lane == leader) base = atomicAdd(counter, __popc(active));
  base = __shfl_sync(active, base, leader);
  return base + __popc(active & ((1u << lane) - 1u));
}
__global__ void pick(const int* in, int n, int* out, int* counter) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && (in[i] & 1)) out[take(counter)] = in[i];
}

int main() {
  const int n = 800;
  std::vector<int> h(n), kept(n);
  long want = 0, sum = 0;
  int wanted = 0, got, *in, *out, *counter;
  for (int i = 0; i < n; ++i) {
    h[i] = i * 77 % 211;
    if (h[i] & 1) want += h[i], ++wanted;
  }
  cudaMalloc(&in, n * 4), cudaMalloc(&out, n * 4), cudaMalloc(&counter, 4);
  cudaMemcpy(in, h.data(), n * 4, cudaMemcpyHostToDevice);
  cudaMemset(out, 0, n * 4), cudaMemset(counter, 0, 4);
  pick<<<(n + 191) / 192, 192>>>(in, n, out, counter);
  cudaMemcpy(&got, counter, 4, cudaMemcpyDeviceToHost);
  cudaMemcpy(kept.data(), out, n * 4, cudaMemcpyDeviceToHost);
  for (int v : kept) sum += v;
  printf("kept %d sum %ld %s\n", got, sum, got == wanted && sum == want ? "right" : "WRONG");
}
