// domain: string
// hazards: none
// expect: distance 31 right
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include <cuda_runtime.h>

// Levenshtein distance by anti-diagonals, one block.
__global__ void distance(const char* a, const char* b, int n, int* out) {
  __shared__ int d[3][65];
  int i = threadIdx.x;
  for (int s = 0; s <= 2 * n; ++s) {
    int* now = d[s % 3];
    const int *last = d[(s + 2) % 3], *before = d[(s + 1) % 3];
    int j = s - i;
    if (i <= n && j >= 0 && j <= n) {
      if (i == 0 || j == 0) now[i] = i + j;
      else now[i] = min(min(last[i], last[i - 1]) + 1, before[i - 1] + (a[i - 1] != b[j - 1]));
    }
    __syncthreads();
  }
  if (i == n) *out = d[2 * n % 3][n];
}

int main() {
  const int n = 60;
  std::string a, b;
  for (int i = 0; i < n; ++i) a += (char)('a' + i * 5 % 7), b += (char)('a' + i * 3 % 5);
  std::vector<std::vector<int>> t(n + 1, std::vector<int>(n + 1));
  for (int i = 0; i <= n; ++i)
    for (int j = 0; j <= n; ++j)
      t[i][j] = !i || !j ? i + j : std::min(std::min(t[i - 1][j], t[i][j - 1]) + 1, t[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
  char *da, *db;
  int *out, got;
  cudaMalloc(&da, n), cudaMalloc(&db, n), cudaMalloc(&out, 4);
  cudaMemcpy(da, a.data(), n, cudaMemcpyHostToDevice);
  cudaMemcpy(db, b.data(), n, cudaMemcpyHostToDevice);
  distance<<<1, 64>>>(da, db, n, out);
  cudaMemcpy(&got, out, 4, cudaMemcpyDeviceToHost);
  printf("distance %d %s\n", got, got == t[n][n] ? "right" : "WRONG");
}
