// domain: compression
// hazards: lane-mask
// expect: runs 325 sum 104405 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>


// Run lengths: heads of runs are counted by ballots, and each head writes its place.
__global__ void heads(const char* in, int* first, char* what, int* count, int n) {
  __shared__ int warp[32], base;
  int i = threadIdx.x, lane = i & 31;
  for (int at = 0; at < n; at += blockDim.x) {
    if (i == 0) base = at == 0 ? 0 : *count;
    bool is_head = at + i < n && (at + i == 0 || in[at + i] != in[at + i - 1]);
    unsigned votes = __ballot_sync(~0u, is_head);
    if (lane == 0) warp[i / 32] = __popc(votes);
    __syncthreads();
    int before = base + __popc(votes & ((1u << lane) - 1)), all = base;
    for (int w = 0; w < blockDim.x / 32; ++w) before += w < i / 32 ? warp[w] : 0, all += warp[w];
    if (is_head) first[before] = at + i, what[before] = in[at + i];
    __syncthreads();
    if (i == 0) *count = all;
    __syncthreads();
  }
}

int main() {
  const int n = 500;
  std::vector<char> in(n);
  for (int i = 0; i < n; ++i) in[i] = 'a' + i * i / 700 % 7;
  char *d, *what;
  int *first, *count, runs, wanted = 0, sum = 0;
  cudaMalloc(&d, n), cudaMalloc(&what, n), cudaMalloc(&first, n * 4), cudaMalloc(&count, 4);
  cudaMemcpy(d, in.data(), n, cudaMemcpyHostToDevice);
  heads<<<1, 128>>>(d, first, what, count, n);
  cudaMemcpy(&runs, count, 4, cudaMemcpyDeviceToHost);
  std::vector<int> at(runs);
  cudaMemcpy(at.data(), first, runs * 4, cudaMemcpyDeviceToHost);
  bool right = true;
  for (int i = 0; i < n; ++i)
    if (i == 0 || in[i] != in[i - 1]) right &= wanted < runs && at[wanted] == i, ++wanted;
  for (int v : at) sum += v;
  printf("runs %d sum %d %s\n", runs, sum, right && runs == wanted ? "right" : "WRONG");
}
