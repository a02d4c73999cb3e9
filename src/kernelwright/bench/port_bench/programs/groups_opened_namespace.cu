// domain: cooperative-groups
// hazards: tiles-of-32 reduce
// expect: sums 496 1520 2544 3568 ranks 960 block 128
// Groups whose namespace is opened or named otherwise, tiles whose size is an argument.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cstdio>
namespace groups = cooperative_groups;
using namespace cooperative_groups;

__device__ void wait_for(const thread_group& group) { group.sync(); }

__global__ void sums(int* out, int* ranks) {
  __shared__ int values[128];
  thread_block block = this_thread_block();
  values[block.thread_rank()] = static_cast<int>(threadIdx.x);
  wait_for(block);
  auto tile = groups::tiled_partition<32>(block);
  const int sum = reduce(tile, values[127 - threadIdx.x], groups::plus<int>());
  if (tile.thread_rank() == 0) out[3 - tile.meta_group_rank()] = sum;
  thread_group sixteen = tiled_partition(block, 16);
  atomicAdd(ranks, static_cast<int>(sixteen.thread_rank()));
  wait_for(sixteen);
  if (threadIdx.x == 0) ranks[1] = static_cast<int>(group_size(block));
}

int main() {
  int *out, *ranks;
  cudaMallocManaged(&out, 4 * sizeof(int));
  cudaMallocManaged(&ranks, 2 * sizeof(int));
  ranks[0] = 0;
  sums<<<1, 128>>>(out, ranks);
  cudaDeviceSynchronize();
  printf("sums %d %d %d %d ranks %d block %d\n", out[0], out[1], out[2], out[3], ranks[0], ranks[1]);
}
