// domain: cooperative-groups
// hazards: tiles-of-32
// expect: sum 496 least 3 most 94 every 0 any 31
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cstdio>

#include <cuda_runtime.h>

namespace cg = cooperative_groups;

__global__ void reductions(int* out) {
  const auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  const int lane = tile.thread_rank();
  const int sum = cg::reduce(tile, lane, cg::plus<int>());
  const int least = cg::reduce(tile, 3 * lane + 1, cg::less<int>()) + 2;
  const int most = cg::reduce(tile, 3 * lane + 1, cg::greater<int>());
  const int every = cg::reduce(tile, lane, cg::bit_and<int>());
  const int any = cg::reduce(tile, lane, cg::bit_or<int>());
  if (threadIdx.x == 32) out[0] = sum, out[1] = least, out[2] = most, out[3] = every, out[4] = any;
}

int main() {
  int *out, got[5];
  cudaMalloc(&out, sizeof got);
  reductions<<<1, 64>>>(out);
  cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost);
  printf("sum %d least %d most %d every %d any %d\n", got[0], got[1], got[2], got[3], got[4]);
}
