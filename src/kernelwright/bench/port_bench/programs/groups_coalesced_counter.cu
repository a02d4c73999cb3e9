// domain: cooperative-groups
// hazards: coalesced-groups
// expect: kept 346 sum 26123 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>
#include <cooperative_groups.h>

namespace cg = cooperative_groups;
__device__ int claim(int* counter) {
  cg::coalesced_group g = cg::coalesced_threads();
  int base = 0;
  if (g.thread_rank() == 0) base = atomicAdd(counter, g.size());
  return g.shfl(base, 0) + g.thread_rank();
}
__global__ void filter(const int* in, int n, int* out, int* counter) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && in[i] > 50) out[claim(counter)] = in[i];
}

int main() {
  const int n = 700;
  std::vector<int> h(n), kept(n);
  long want = 0, sum = 0;
  int wanted = 0, got, *in, *out, *counter;
  for (int i = 0; i < n; ++i) {
    h[i] = i * 19 % 101;
    if (h[i] > 50) want += h[i], ++wanted;
  }
  cudaMalloc(&in, n * 4), cudaMalloc(&out, n * 4), cudaMalloc(&counter, 4);
  cudaMemcpy(in, h.data(), n * 4, cudaMemcpyHostToDevice);
  cudaMemset(out, 0, n * 4), cudaMemset(counter, 0, 4);
  filter<<<(n + 127) / 128, 128>>>(in, n, out, counter);
  cudaMemcpy(&got, counter, 4, cudaMemcpyDeviceToHost);
  cudaMemcpy(kept.data(), out, n * 4, cudaMemcpyDeviceToHost);
  for (int v : kept) sum += v;
  printf("kept %d sum %ld %s\n", got, sum, got == wanted && sum == want ? "right" : "WRONG");
}
