// domain: graph
// hazards: ballot-32 hard-coded-32
// expect: triangles 0 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

// Adjacency rows as bits: one warp of 32 lanes holds a row of 32 vertices.
__global__ void triangles(const unsigned* row, int* count) {
  int lane = threadIdx.x & 31, v = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  bool near = row[v] >> lane & 1u;
  unsigned mine = __ballot_sync(0xffffffffu, near);
  int found = near ? __popc(row[lane] & mine) : 0;
  for (int o = 16; o; o >>= 1) found += __shfl_xor_sync(0xffffffffu, found, o);
  if (lane == 0) atomicAdd(count, found);
}

int main() {
  std::vector<unsigned> row(32, 0);
  for (int i = 0; i < 32; ++i)
    for (int j = 0; j < i; ++j)
      if ((i * j + i + j) % 3 == 1) row[i] |= 1u << j, row[j] |= 1u << i;
  int want = 0;
  for (int i = 0; i < 32; ++i)
    for (int j = 0; j < i; ++j)
      for (int k = 0; k < j; ++k) want += (row[i] >> j & 1) && (row[i] >> k & 1) && (row[j] >> k & 1);
  unsigned* d;
  int *count, got;
  cudaMalloc(&d, 128), cudaMalloc(&count, 4);
  cudaMemcpy(d, row.data(), 128, cudaMemcpyHostToDevice);
  cudaMemset(count, 0, 4);
  triangles<<<4, 256>>>(d, count);
  cudaMemcpy(&got, count, 4, cudaMemcpyDeviceToHost);
  printf("triangles %d %s\n", got / 6, got == 6 * want ? "right" : "WRONG");
}
