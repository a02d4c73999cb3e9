// domain: cooperative-groups
// hazards: none
// expect: last 88 wrong 0
#include <algorithm>
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>
#include <cooperative_groups.h>

namespace cg = cooperative_groups;
__global__ void pairs(const float* in, float* out) {
  auto block = cg::this_thread_block();
  auto four = cg::tiled_partition<4>(block);
  float v = in[block.thread_rank()];
  for (int m = 1; m < 4; m <<= 1) v = fmaxf(v, four.shfl_xor(v, m));
  block.sync();
  if (four.thread_rank() == 0) out[block.thread_rank() / 4] = v;
}

int main() {
  const int n = 96;
  std::vector<float> h(n), got(n / 4);
  for (int i = 0; i < n; ++i) h[i] = (float)(i * 53 % 97);
  float *in, *out;
  cudaMalloc(&in, n * 4), cudaMalloc(&out, n);
  cudaMemcpy(in, h.data(), n * 4, cudaMemcpyHostToDevice);
  pairs<<<1, n>>>(in, out);
  cudaMemcpy(got.data(), out, n, cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < n / 4; ++i) wrong += got[i] != std::max(std::max(h[4 * i], h[4 * i + 1]), std::max(h[4 * i + 2], h[4 * i + 3]));
  printf("last %.0f wrong %d\n", got[n / 4 - 1], wrong);
}
