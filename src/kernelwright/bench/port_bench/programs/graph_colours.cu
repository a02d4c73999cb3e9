// domain: graph
// hazards: none
// expect: colours 2 checksum 3600 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>


// Colours by waves: a vertex takes the least free colour once its larger neighbours have theirs.
__global__ void colour(const int* beside, int degree, const int* now, int* next, int n) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= n) return;
  next[v] = now[v];
  if (now[v] >= 0) return;
  unsigned taken = 0;
  for (int k = 0; k < degree; ++k) {
    int w = beside[v * degree + k];
    if (w > v && now[w] < 0) return;
    if (now[w] >= 0) taken |= 1u << now[w];
  }
  next[v] = __ffs(~taken) - 1;
}

int main() {
  const int n = 120, degree = 4;
  std::vector<int> beside(n * degree), got(n, -1);
  for (int v = 0; v < n; ++v) {
    const int to[] = {(v + 1) % n, (v + n - 1) % n, (v + 7) % n, (v + n - 7) % n};
    for (int k = 0; k < degree; ++k) beside[v * degree + k] = to[k];
  }
  int *b, *now, *next;
  cudaMalloc(&b, beside.size() * 4), cudaMalloc(&now, n * 4), cudaMalloc(&next, n * 4);
  cudaMemcpy(b, beside.data(), beside.size() * 4, cudaMemcpyHostToDevice);
  cudaMemset(now, 0xff, n * 4);
  for (int round = 0; round < n; ++round) {
    colour<<<2, 64>>>(b, degree, now, next, n);
    std::swap(now, next);
  }
  cudaMemcpy(got.data(), now, n * 4, cudaMemcpyDeviceToHost);
  bool right = true;
  int most = 0, sum = 0;
  for (int v = 0; v < n; ++v) {
    for (int k = 0; k < degree; ++k) right &= got[v] != got[beside[v * degree + k]] && got[v] >= 0;
    most = std::max(most, got[v]), sum += got[v] * (v + 1);
  }
  printf("colours %d checksum %d %s\n", most + 1, sum, right ? "right" : "WRONG");
}
