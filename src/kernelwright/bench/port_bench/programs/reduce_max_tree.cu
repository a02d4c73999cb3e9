// domain: reduction
// hazards: none
// expect: max 2000.0 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

__global__ void max_of(const float* in, float* out, int n) {
  extern __shared__ float s[];
  const unsigned t = threadIdx.x;
  float best = -3.4e38f;
  for (int i = blockIdx.x * blockDim.x + t; i < n; i += blockDim.x * gridDim.x) best = fmaxf(best, in[i]);
  s[t] = best;
  __syncthreads();
  for (unsigned k = blockDim.x / 2; k > 0; k >>= 1) {
    if (t < k) s[t] = fmaxf(s[t], s[t + k]);
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = s[0];
}

int main() {
  const int n = 4099, blocks = 4;
  std::vector<float> h(n), got(blocks);
  for (int i = 0; i < n; ++i) h[i] = (float)((i * 733) % 4001) * 0.5f;
  float *in, *out;
  cudaMalloc(&in, n * 4), cudaMalloc(&out, blocks * 4);
  cudaMemcpy(in, h.data(), n * 4, cudaMemcpyHostToDevice);
  max_of<<<blocks, 128, 128 * sizeof(float)>>>(in, out, n);
  cudaMemcpy(got.data(), out, blocks * 4, cudaMemcpyDeviceToHost);
  float best = 0, want = 0;
  for (float v : got) best = v > best ? v : best;
  for (float v : h) want = v > want ? v : want;
  printf("max %.1f %s\n", best, best == want ? "right" : "WRONG");
}
