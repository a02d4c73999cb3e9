// domain: cooperative-groups
// hazards: tile
// expect: last 1912 votes 1843 right
#include <cooperative_groups.h>
#include <cstdio>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;

// Ranks of tiles within their block, sums by shuffles of tiles, votes within them.
__global__ void ranks(int* out, int* votes) {
  cg::thread_block block = cg::this_thread_block();
  auto tile = cg::tiled_partition<16>(block);
  int v = block.thread_rank();
  for (int d = tile.size() / 2; d > 0; d /= 2) v += tile.shfl_down(v, d);
  unsigned odd = tile.ballot(threadIdx.x % 3 == 1);
  bool all = tile.all(threadIdx.x < 200), any = tile.any(threadIdx.x == 77);
  if (tile.thread_rank() == 0) {
    out[block.thread_rank() / 16] = v;
    votes[block.thread_rank() / 16] = __popc(odd) + 100 * all + 1000 * any;
  }
}

int main() {
  const int tiles = 8;
  int *a, *b, sums[tiles], votes[tiles], total = 0;
  cudaMalloc(&a, sizeof sums), cudaMalloc(&b, sizeof votes);
  ranks<<<1, 16 * tiles>>>(a, b);
  cudaMemcpy(sums, a, sizeof sums, cudaMemcpyDeviceToHost), cudaMemcpy(votes, b, sizeof votes, cudaMemcpyDeviceToHost);
  bool right = true;
  for (int t = 0; t < tiles; ++t) {
    int sum = 0, odd = 0;
    for (int i = 16 * t; i < 16 * t + 16; ++i) sum += i, odd += i % 3 == 1;
    right &= sums[t] == sum && votes[t] == odd + 100 + 1000 * (t == 77 / 16), total += votes[t];
  }
  printf("last %d votes %d %s\n", sums[tiles - 1], total, right ? "right" : "WRONG");
}
