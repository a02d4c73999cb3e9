// domain: cooperative-groups
// hazards: tiles-of-32
// expect: sum 17172 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>
#include <cooperative_groups.h>

namespace cg = cooperative_groups;
__global__ void sum(const int* in, int* out, int n) {
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
  int i = blockIdx.x * blockDim.x + block.thread_rank();
  int v = i < n ? in[i] : 0;
  for (int o = tile.size() / 2; o > 0; o /= 2) v += tile.shfl_down(v, o);
  if (tile.thread_rank() == 0) atomicAdd(out, v);
}

int main() {
  const int n = 1234;
  std::vector<int> h(n);
  int want = 0, got, *in, *out;
  for (int i = 0; i < n; ++i) h[i] = i % 29, want += h[i];
  cudaMalloc(&in, n * 4), cudaMalloc(&out, 4);
  cudaMemcpy(in, h.data(), n * 4, cudaMemcpyHostToDevice);
  cudaMemset(out, 0, 4);
  sum<<<(n + 127) / 128, 128>>>(in, out, n);
  cudaMemcpy(&got, out, 4, cudaMemcpyDeviceToHost);
  printf("sum %d %s\n", got, got == want ? "right" : "WRONG");
}
