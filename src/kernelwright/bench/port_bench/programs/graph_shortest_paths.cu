// domain: graph
// hazards: none
// expect: sum 30000666 last 1000000 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>


// Shortest paths by relaxing every edge until nothing changes; the host reads a flag.
__global__ void relax(const int3* edge, int* far, int* changed, int m) {
  int e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e >= m) return;
  int through = atomicAdd(&far[edge[e].x], 0) + edge[e].z;
  if (through < atomicMin(&far[edge[e].y], through)) atomicExch(changed, 1);
}

int main() {
  const int n = 50, m = 200;
  std::vector<int3> edge(m);
  std::vector<int> far(n, 1000000), want(n, 1000000);
  for (int e = 0; e < m; ++e) edge[e] = make_int3(e % n, (e * 17 + 3) % n, e * 31 % 23 + 1);
  far[0] = want[0] = 0;
  for (int i = 0; i < n; ++i)
    for (int3 e : edge) want[e.y] = std::min(want[e.y], want[e.x] + e.z);
  int3* d;
  int *f, *c, changed = 1;
  cudaMalloc(&d, m * sizeof(int3)), cudaMalloc(&f, n * 4), cudaMalloc(&c, 4);
  cudaMemcpy(d, edge.data(), m * sizeof(int3), cudaMemcpyHostToDevice);
  cudaMemcpy(f, far.data(), n * 4, cudaMemcpyHostToDevice);
  while (changed) {
    cudaMemset(c, 0, 4);
    relax<<<2, 128>>>(d, f, c, m);
    cudaMemcpy(&changed, c, 4, cudaMemcpyDeviceToHost);
  }
  cudaMemcpy(far.data(), f, n * 4, cudaMemcpyDeviceToHost);
  long sum = 0;
  for (int v : far) sum += v;
  printf("sum %ld last %d %s\n", sum, far[n - 1], far == want ? "right" : "WRONG");
}
