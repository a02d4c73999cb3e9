// domain: scan
// hazards: none
// expect: last 1266 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

__global__ void exclusive(int* data, int n) {
  extern __shared__ int t[];
  int i = threadIdx.x, offset = 1;
  t[2 * i] = data[2 * i], t[2 * i + 1] = data[2 * i + 1];
  for (int d = n >> 1; d > 0; d >>= 1) {
    __syncthreads();
    if (i < d) t[offset * (2 * i + 2) - 1] += t[offset * (2 * i + 1) - 1];
    offset *= 2;
  }
  if (i == 0) t[n - 1] = 0;
  for (int d = 1; d < n; d *= 2) {
    offset >>= 1;
    __syncthreads();
    if (i < d) {
      int a = offset * (2 * i + 1) - 1, b = offset * (2 * i + 2) - 1, v = t[a];
      t[a] = t[b], t[b] += v;
    }
  }
  __syncthreads();
  data[2 * i] = t[2 * i], data[2 * i + 1] = t[2 * i + 1];
}

int main() {
  const int n = 256;
  std::vector<int> h(n), want(n), got(n);
  int total = 0;
  for (int i = 0; i < n; ++i) h[i] = i % 9 + 1, want[i] = total, total += h[i];
  int* d;
  cudaMalloc(&d, n * sizeof(int));
  cudaMemcpy(d, h.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  exclusive<<<1, n / 2, n * sizeof(int)>>>(d, n);
  cudaMemcpy(got.data(), d, n * sizeof(int), cudaMemcpyDeviceToHost);
  printf("last %d %s\n", got[n - 1], got == want ? "right" : "WRONG");
}
