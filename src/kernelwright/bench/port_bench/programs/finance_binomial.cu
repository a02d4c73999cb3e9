// domain: finance
// hazards: none
// expect: at the money 5.1 wrong 0
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#define STEPS 63
__global__ void american_put(const float* strike, float* out) {
  __shared__ float v[STEPS + 1];
  const float spot = 100, up = 1.02f, down = 1 / up, disc = 0.9995f, p = (1 / disc - down) / (up - down);
  int i = threadIdx.x;
  float k = strike[blockIdx.x];
  v[i] = fmaxf(k - spot * powf(up, 2.0f * i - STEPS), 0.0f);
  __syncthreads();
  for (int s = STEPS - 1; s >= 0; --s) {
    float held = 0;
    if (i <= s) held = disc * (p * v[i + 1] + (1 - p) * v[i]);
    __syncthreads();
    if (i <= s) v[i] = fmaxf(held, k - spot * powf(up, 2.0f * i - s));
    __syncthreads();
  }
  if (i == 0) out[blockIdx.x] = v[0];
}

int main() {
  const int n = 8;
  std::vector<float> k(n), got(n);
  for (int i = 0; i < n; ++i) k[i] = 85 + 5 * i;
  float *dk, *out;
  cudaMalloc(&dk, n * 4), cudaMalloc(&out, n * 4);
  cudaMemcpy(dk, k.data(), n * 4, cudaMemcpyHostToDevice);
  american_put<<<n, STEPS + 1>>>(dk, out);
  cudaMemcpy(got.data(), out, n * 4, cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < n; ++i) {
    std::vector<double> v(STEPS + 1);
    double up = 1.02f, down = 1 / up, disc = 0.9995f, p = (1 / disc - down) / (up - down);
    for (int j = 0; j <= STEPS; ++j) v[j] = std::max(k[i] - 100 * pow(up, 2.0 * j - STEPS), 0.0);
    for (int s = STEPS - 1; s >= 0; --s)
      for (int j = 0; j <= s; ++j) v[j] = std::max(disc * (p * v[j + 1] + (1 - p) * v[j]), k[i] - 100 * pow(up, 2.0 * j - s));
    wrong += fabs(v[0] - got[i]) > 2e-3;
  }
  printf("at the money %.1f wrong %d\n", got[3], wrong);
}
