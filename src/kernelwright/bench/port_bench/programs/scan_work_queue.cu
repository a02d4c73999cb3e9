// domain: scan
// hazards: none
// expect: total 246 last 992 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>


// Places for variable outputs: counts, a scan of a block, and writes without gaps.
__global__ void expand(const int* count, int* out, int* total, int n) {
  __shared__ int s[2][128];
  int i = threadIdx.x, at = 0;
  s[0][i] = i < n ? count[i] : 0;
  __syncthreads();
  for (int d = 1; d < 128; d *= 2, at ^= 1) {
    s[at ^ 1][i] = s[at][i] + (i >= d ? s[at][i - d] : 0);
    __syncthreads();
  }
  int end = s[at][i], mine = i < n ? count[i] : 0;
  for (int k = 0; k < mine; ++k) out[end - mine + k] = i * 10 + k;
  if (i == 127) *total = end;
}

int main() {
  const int n = 100;
  std::vector<int> h(n), want;
  for (int i = 0; i < n; ++i) {
    h[i] = i * 13 % 6;
    for (int k = 0; k < h[i]; ++k) want.push_back(i * 10 + k);
  }
  int *a, *b, *t, total;
  cudaMalloc(&a, n * 4), cudaMalloc(&b, n * 6 * 4), cudaMalloc(&t, 4);
  cudaMemcpy(a, h.data(), n * 4, cudaMemcpyHostToDevice);
  expand<<<1, 128>>>(a, b, t, n);
  cudaMemcpy(&total, t, 4, cudaMemcpyDeviceToHost);
  std::vector<int> got(total);
  cudaMemcpy(got.data(), b, total * 4, cudaMemcpyDeviceToHost);
  printf("total %d last %d %s\n", total, got[total - 1], got == want ? "right" : "WRONG");
}
