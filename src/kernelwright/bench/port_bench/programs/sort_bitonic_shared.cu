// domain: sorting
// hazards: none
// expect: first 0 middle 507 last 999 right
#include <algorithm>
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

__global__ void bitonic(int* data) {
  __shared__ int s[512];
  const int t = threadIdx.x;
  s[t] = data[t];
  __syncthreads();
  for (int k = 2; k <= 512; k *= 2)
    for (int j = k / 2; j > 0; j /= 2) {
      int other = t ^ j;
      if (other > t) {
        bool up = (t & k) == 0;
        if ((s[t] > s[other]) == up) { int x = s[t]; s[t] = s[other]; s[other] = x; }
      }
      __syncthreads();
    }
  data[t] = s[t];
}

int main() {
  const int n = 512;
  std::vector<int> h(n), got(n);
  for (int i = 0; i < n; ++i) h[i] = (i * 7919 + 13) % 1000;
  int* d;
  cudaMalloc(&d, n * 4);
  cudaMemcpy(d, h.data(), n * 4, cudaMemcpyHostToDevice);
  bitonic<<<1, n>>>(d);
  cudaMemcpy(got.data(), d, n * 4, cudaMemcpyDeviceToHost);
  std::sort(h.begin(), h.end());
  printf("first %d middle %d last %d %s\n", got[0], got[n / 2], got[n - 1], got == h ? "right" : "WRONG");
}
