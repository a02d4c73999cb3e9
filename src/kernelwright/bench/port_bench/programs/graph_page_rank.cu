// domain: graph
// hazards: none
// expect: best 4 rank 1462819 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>


// Rank by links in whole numbers: each page gathers a share from the pages that link to it.
__global__ void gather(const long* rank, const int* start, const int* from, const int* out_degree, long* next, int n) {
  int page = blockIdx.x * blockDim.x + threadIdx.x;
  if (page >= n) return;
  long sum = 150000;
  for (int e = start[page]; e < start[page + 1]; ++e) sum += rank[from[e]] * 85 / 100 / out_degree[from[e]];
  next[page] = sum;
}

int main() {
  const int n = 60;
  std::vector<int> start(n + 1), from, degree(n);
  for (int page = 0; page < n; ++page) {
    for (int k = 1; k < 5; ++k) from.push_back((page * k + 7 * k) % n), ++degree[(page * k + 7 * k) % n];
    start[page + 1] = from.size();
  }
  std::vector<long> rank(n, 1000000), want = rank;
  long *a, *b;
  int *s, *f, *d;
  cudaMalloc(&a, n * 8), cudaMalloc(&b, n * 8), cudaMalloc(&s, (n + 1) * 4);
  cudaMalloc(&f, from.size() * 4), cudaMalloc(&d, n * 4);
  cudaMemcpy(a, rank.data(), n * 8, cudaMemcpyHostToDevice);
  cudaMemcpy(s, start.data(), (n + 1) * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(f, from.data(), from.size() * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(d, degree.data(), n * 4, cudaMemcpyHostToDevice);
  for (int round = 0; round < 8; ++round) {
    gather<<<1, 64>>>(a, s, f, d, b, n);
    std::swap(a, b);
    std::vector<long> next(n);
    for (int p = 0; p < n; ++p) {
      next[p] = 150000;
      for (int e = start[p]; e < start[p + 1]; ++e) next[p] += want[from[e]] * 85 / 100 / degree[from[e]];
    }
    want = next;
  }
  cudaMemcpy(rank.data(), a, n * 8, cudaMemcpyDeviceToHost);
  long best = 0;
  for (int p = 0; p < n; ++p) best = rank[p] > rank[best] ? p : best;
  printf("best %ld rank %ld %s\n", best, rank[best], rank == want ? "right" : "WRONG");
}
