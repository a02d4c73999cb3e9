// domain: string
// hazards: none
// expect: score 21 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>


// Local alignment along diagonals: one thread a row, a barrier a diagonal.
__global__ void align(const char* a, const char* b, int n, int m, int* best) {
  __shared__ int last[3][65];
  int i = threadIdx.x;
  for (int k = 0; k < 3; ++k) last[k][i] = 0;
  if (i == 0) last[0][64] = last[1][64] = last[2][64] = 0;
  __syncthreads();
  int high = 0;
  for (int d = 0; d < n + m - 1; ++d) {
    int *now = last[d % 3], *one = last[(d + 2) % 3], *two = last[(d + 1) % 3], j = d - i;
    if (i < n && j >= 0 && j < m) {
      int match = (i && j ? two[i - 1] : 0) + (a[i] == b[j] ? 3 : -2);
      int up = (i ? one[i - 1] : 0) - 2, left = (j ? one[i] : 0) - 2;
      now[i] = max(max(match, 0), max(up, left)), high = max(high, now[i]);
    }
    __syncthreads();
  }
  atomicMax(best, high);
}

int main() {
  const int n = 50, m = 90;
  char a[n], b[m];
  for (int i = 0; i < n; ++i) a[i] = "ACGT"[i * i / 3 % 4];
  for (int i = 0; i < m; ++i) b[i] = "ACGT"[(i * i + i) / 5 % 4];
  char *x, *y;
  int *d, got, want = 0;
  cudaMalloc(&x, n), cudaMalloc(&y, m), cudaMalloc(&d, 4), cudaMemset(d, 0, 4);
  cudaMemcpy(x, a, n, cudaMemcpyHostToDevice), cudaMemcpy(y, b, m, cudaMemcpyHostToDevice);
  align<<<1, 64>>>(x, y, n, m, d);
  cudaMemcpy(&got, d, 4, cudaMemcpyDeviceToHost);
  std::vector<int> row(m + 1);
  for (int i = 0; i < n; ++i)
    for (int j = 0, corner = 0; j < m; ++j) {
      int match = corner + (a[i] == b[j] ? 3 : -2);
      corner = row[j + 1];
      row[j + 1] = std::max(std::max(match, 0), std::max(row[j + 1], row[j]) - 2);
      want = std::max(want, row[j + 1]);
    }
  printf("score %d %s\n", got, got == want ? "right" : "WRONG");
}
