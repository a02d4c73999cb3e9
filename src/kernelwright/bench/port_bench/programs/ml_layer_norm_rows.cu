// domain: machine-learning
// hazards: shuffle-mask
// expect: checksum 16.3 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>


// Layer normalisation: a warp a row, its mean and variance by shuffles.
__device__ float all_sum(float v) {
  for (int o = 16; o > 0; o /= 2) v += __shfl_xor_sync(0xffffffffu, v, o);
  return v;
}
__global__ void norm(const float* in, const float* gain, float* out, int rows, int n) {
  int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  float sum = 0, square = 0;
  for (int i = lane; i < n; i += 32) sum += in[row * n + i];
  float mean = all_sum(sum) / n;
  for (int i = lane; i < n; i += 32) square += (in[row * n + i] - mean) * (in[row * n + i] - mean);
  float scale = rsqrtf(all_sum(square) / n + 1e-5f);
  for (int i = lane; i < n; i += 32) out[row * n + i] = (in[row * n + i] - mean) * scale * gain[i];
}

int main() {
  const int rows = 10, n = 80;
  std::vector<float> in(rows * n), gain(n), got(rows * n);
  for (int i = 0; i < rows * n; ++i) in[i] = i * 37 % 101 * 0.25f;
  for (int i = 0; i < n; ++i) gain[i] = 1.0f + i % 3;
  float *a, *g, *b;
  cudaMalloc(&a, rows * n * 4), cudaMalloc(&g, n * 4), cudaMalloc(&b, rows * n * 4);
  cudaMemcpy(a, in.data(), rows * n * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(g, gain.data(), n * 4, cudaMemcpyHostToDevice);
  norm<<<3, 128>>>(a, g, b, rows, n);
  cudaMemcpy(got.data(), b, rows * n * 4, cudaMemcpyDeviceToHost);
  bool right = true;
  double all = 0;
  for (int r = 0; r < rows; ++r) {
    double mean = 0, square = 0;
    for (int i = 0; i < n; ++i) mean += in[r * n + i] / n;
    for (int i = 0; i < n; ++i) square += (in[r * n + i] - mean) * (in[r * n + i] - mean) / n;
    for (int i = 0; i < n; ++i) {
      double want = (in[r * n + i] - mean) / sqrt(square + 1e-5) * gain[i], off = got[r * n + i] - want;
      right &= off < 1e-3 && off > -1e-3, all += got[r * n + i] * (i % 5);
    }
  }
  printf("checksum %.1f %s\n", all, right ? "right" : "WRONG");
}
