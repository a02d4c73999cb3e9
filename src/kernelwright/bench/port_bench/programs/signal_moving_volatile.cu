// domain: signal
// hazards: implicit-warp-synchrony hard-coded-32
// expect: last 136 wrong 0
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

// Running sums in shared memory by the lanes of one warp, with no barrier.
__global__ void runs(const int* in, int* out) {
  volatile __shared__ int s[96];
  int t = threadIdx.x, base = t / 32 * 48, lane = t & 31;
  if (lane < 16) s[base + lane] = 0;
  int at = base + 16 + lane;
  s[at] = in[blockIdx.x * 64 + t];
  __syncthreads();
  s[at] = s[at] + s[at - 1];
  s[at] = s[at] + s[at - 2];
  s[at] = s[at] + s[at - 4];
  s[at] = s[at] + s[at - 8];
  s[at] = s[at] + s[at - 16];
  out[blockIdx.x * 64 + t] = s[at];
}

int main() {
  const int n = 192;
  std::vector<int> h(n), got(n);
  for (int i = 0; i < n; ++i) h[i] = i % 10;
  int *in, *out;
  cudaMalloc(&in, n * 4), cudaMalloc(&out, n * 4);
  cudaMemcpy(in, h.data(), n * 4, cudaMemcpyHostToDevice);
  runs<<<n / 64, 64>>>(in, out);
  cudaMemcpy(got.data(), out, n * 4, cudaMemcpyDeviceToHost);
  int wrong = 0, sum = 0;
  for (int i = 0; i < n; ++i) {
    if (i % 32 == 0) sum = 0;
    wrong += got[i] != (sum += h[i]);
  }
  printf("last %d wrong %d\n", got[n - 1], wrong);
}
