// domain: database
// hazards: none
// expect: pairs 310 sum 2329832 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>


// Rows of two tables with the same key: lists by atomic exchange, then one thread a probe.
__global__ void build(const int* key, int* head, int* next, int n, int size) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) next[i] = atomicExch(&head[key[i] % size], i);
}
__global__ void probe(const int* key, const int* of, const int* head, const int* next, unsigned long long* sum, int* count, int n, int size) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  for (int at = head[key[i] % size]; at >= 0; at = next[at])
    if (of[at] == key[i]) atomicAdd(sum, 1ull * (at + 1) * (i + 1)), atomicAdd(count, 1);
}

int main() {
  const int n = 200, m = 150, size = 64;
  std::vector<int> left(n), right(m);
  for (int i = 0; i < n; ++i) left[i] = i * 7 % 97;
  for (int i = 0; i < m; ++i) right[i] = i * 11 % 89;
  unsigned long long want = 0, got, *sum;
  int wanted = 0, found, *a, *b, *head, *next, *count;
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j)
      if (left[j] == right[i]) want += 1ull * (j + 1) * (i + 1), ++wanted;
  cudaMalloc(&a, n * 4), cudaMalloc(&b, m * 4), cudaMalloc(&head, size * 4), cudaMalloc(&next, n * 4);
  cudaMalloc(&sum, 8), cudaMalloc(&count, 4);
  cudaMemcpy(a, left.data(), n * 4, cudaMemcpyHostToDevice), cudaMemcpy(b, right.data(), m * 4, cudaMemcpyHostToDevice);
  cudaMemset(head, 0xff, size * 4), cudaMemset(sum, 0, 8), cudaMemset(count, 0, 4);
  build<<<2, 128>>>(a, head, next, n, size);
  probe<<<2, 128>>>(b, a, head, next, sum, count, m, size);
  cudaMemcpy(&got, sum, 8, cudaMemcpyDeviceToHost), cudaMemcpy(&found, count, 4, cudaMemcpyDeviceToHost);
  printf("pairs %d sum %llu %s\n", found, got, got == want && found == wanted ? "right" : "WRONG");
}
