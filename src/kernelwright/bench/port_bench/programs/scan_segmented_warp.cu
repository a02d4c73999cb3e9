// domain: scan
// hazards: shuffle-mask lane-mask
// expect: sum 9441 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>


// Sums within segments that flags begin: lanes stop adding at the nearest flag below them.
__global__ void segments(const int* v, const int* flag, int* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
  unsigned heads = __ballot_sync(0xffffffffu, flag[i] || lane == 0);
  int first = 31 - __clz(heads & (0xffffffffu >> (31 - lane)));
  int sum = v[i];
  for (int d = 1; d < 32; d *= 2) {
    int below = __shfl_up_sync(0xffffffffu, sum, d);
    if (lane - d >= first) sum += below;
  }
  out[i] = sum;
}

int main() {
  const int n = 256;
  std::vector<int> v(n), flag(n), got(n);
  for (int i = 0; i < n; ++i) v[i] = i % 13 + 1, flag[i] = i * 37 % 11 == 0;
  int *a, *b, *c, sum = 0, running = 0;
  cudaMalloc(&a, n * 4), cudaMalloc(&b, n * 4), cudaMalloc(&c, n * 4);
  cudaMemcpy(a, v.data(), n * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(b, flag.data(), n * 4, cudaMemcpyHostToDevice);
  segments<<<2, 128>>>(a, b, c);
  cudaMemcpy(got.data(), c, n * 4, cudaMemcpyDeviceToHost);
  bool right = true;
  for (int i = 0; i < n; ++i) {
    running = i % 32 == 0 || flag[i] ? v[i] : running + v[i];
    right &= running == got[i], sum += got[i];
  }
  printf("sum %d %s\n", sum, right ? "right" : "WRONG");
}
