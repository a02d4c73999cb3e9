// domain: graph
// hazards: none
// expect: components 36 right
#include <algorithm>
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

__global__ void hook(const int2* edges, int m, int* label, int* changed) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= m) return;
  int a = atomicAdd(&label[edges[i].x], 0), b = atomicAdd(&label[edges[i].y], 0);
  if (a < b) { atomicMin(&label[edges[i].y], a); atomicExch(changed, 1); }
  if (b < a) { atomicMin(&label[edges[i].x], b); atomicExch(changed, 1); }
}

int main() {
  const int n = 120;
  std::vector<int2> edges;
  for (int v = 0; v + 5 < n; ++v)
    if (v % 20 != 17 && v % 20 < 14) edges.push_back(make_int2(v + 5, v));
  std::vector<int> label(n);
  for (int v = 0; v < n; ++v) label[v] = v;
  std::vector<int> want = label;
  for (bool moved = true; moved;) {
    moved = false;
    for (auto e : edges) {
      int low = std::min(want[e.x], want[e.y]);
      if (want[e.x] != low || want[e.y] != low) want[e.x] = want[e.y] = low, moved = true;
    }
  }
  int2* de;
  int *dl, *dc, changed = 1;
  cudaMalloc(&de, edges.size() * sizeof(int2)), cudaMalloc(&dl, n * 4), cudaMalloc(&dc, 4);
  cudaMemcpy(de, edges.data(), edges.size() * sizeof(int2), cudaMemcpyHostToDevice);
  cudaMemcpy(dl, label.data(), n * 4, cudaMemcpyHostToDevice);
  while (changed) {
    cudaMemset(dc, 0, 4);
    hook<<<(int)(edges.size() + 31) / 32, 32>>>(de, (int)edges.size(), dl, dc);
    cudaMemcpy(&changed, dc, 4, cudaMemcpyDeviceToHost);
  }
  cudaMemcpy(label.data(), dl, n * 4, cudaMemcpyDeviceToHost);
  int roots = 0;
  for (int v = 0; v < n; ++v) roots += label[v] == v;
  printf("components %d %s\n", roots, label == want ? "right" : "WRONG");
}
