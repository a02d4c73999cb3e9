// domain: graph
// hazards: none
// expect: depth 11 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

__global__ void expand(const int* start, const int* edge, int* level, int depth, int n, int* changed) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= n || atomicAdd(&level[v], 0) != depth) return;
  for (int i = start[v]; i < start[v + 1]; ++i)
    if (atomicCAS(&level[edge[i]], -1, depth + 1) == -1) atomicExch(changed, 1);
}

int main() {
  const int n = 200;
  std::vector<int> start(1, 0), edge, level(n, -1), want(n, -1);
  for (int v = 0; v < n; ++v) {
    edge.push_back((v * 3 + 1) % n), edge.push_back((v + 7) % n);
    start.push_back((int)edge.size());
  }
  std::vector<int> queue(1, 0);
  want[0] = 0;
  for (size_t i = 0; i < queue.size(); ++i)
    for (int e = start[queue[i]]; e < start[queue[i] + 1]; ++e)
      if (want[edge[e]] < 0) want[edge[e]] = want[queue[i]] + 1, queue.push_back(edge[e]);
  level[0] = 0;
  int *ds, *de, *dl, *dc, changed = 1, depth = 0;
  cudaMalloc(&ds, start.size() * 4), cudaMalloc(&de, edge.size() * 4);
  cudaMalloc(&dl, n * 4), cudaMalloc(&dc, 4);
  cudaMemcpy(ds, start.data(), start.size() * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(de, edge.data(), edge.size() * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(dl, level.data(), n * 4, cudaMemcpyHostToDevice);
  for (; changed; ++depth) {
    cudaMemset(dc, 0, 4);
    expand<<<(n + 63) / 64, 64>>>(ds, de, dl, depth, n, dc);
    cudaMemcpy(&changed, dc, 4, cudaMemcpyDeviceToHost);
  }
  cudaMemcpy(level.data(), dl, n * 4, cudaMemcpyDeviceToHost);
  printf("depth %d %s\n", depth, level == want ? "right" : "WRONG");
}
