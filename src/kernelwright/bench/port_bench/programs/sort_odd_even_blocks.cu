// domain: sorting
// hazards: none
// expect: checksum 234960 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>


// Odd-even transposition over many launches: the host decides which pairs are compared.
__global__ void step(int* p, int n, int odd) {
  int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x) + odd;
  if (i + 1 < n && p[i] > p[i + 1]) {
    int t = p[i];
    p[i] = p[i + 1], p[i + 1] = t;
  }
}

int main() {
  const int n = 90;
  std::vector<int> h(n);
  for (int i = 0; i < n; ++i) h[i] = i * 61 % 89;
  int* p;
  cudaMalloc(&p, n * 4);
  cudaMemcpy(p, h.data(), n * 4, cudaMemcpyHostToDevice);
  for (int i = 0; i < n; ++i) step<<<2, 32>>>(p, n, i % 2);
  cudaMemcpy(h.data(), p, n * 4, cudaMemcpyDeviceToHost);
  bool right = true;
  int sum = 0;
  for (int i = 0; i < n; ++i) right &= i == 0 || h[i - 1] <= h[i], sum += i * h[i];
  printf("checksum %d %s\n", sum, right ? "right" : "WRONG");
}
