// domain: finance
// hazards: none
// expect: call 10.44 put 4.11 wrong 0
#include <cmath>
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

__device__ float normal(float d) { return 0.5f * erfcf(-d * 0.70710678f); }
__global__ void price(const float* spot, const float* strike, float* call, float* put, int n) {
  const float rate = 0.02f, vol = 0.3f, years = 1.5f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    float root = sqrtf(years), d1 = (logf(spot[i] / strike[i]) + (rate + 0.5f * vol * vol) * years) / (vol * root);
    float d2 = d1 - vol * root, disc = expf(-rate * years);
    call[i] = spot[i] * normal(d1) - strike[i] * disc * normal(d2);
    put[i] = strike[i] * disc * normal(-d2) - spot[i] * normal(-d1);
  }
}

int main() {
  const int n = 200;
  std::vector<float> s(n), k(n), c(n), p(n);
  for (int i = 0; i < n; ++i) s[i] = 50 + i % 40, k[i] = 45 + i % 50;
  float *ds, *dk, *dc, *dp;
  cudaMalloc(&ds, n * 4), cudaMalloc(&dk, n * 4), cudaMalloc(&dc, n * 4), cudaMalloc(&dp, n * 4);
  cudaMemcpy(ds, s.data(), n * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(dk, k.data(), n * 4, cudaMemcpyHostToDevice);
  price<<<2, 64>>>(ds, dk, dc, dp, n);
  cudaMemcpy(c.data(), dc, n * 4, cudaMemcpyDeviceToHost);
  cudaMemcpy(p.data(), dp, n * 4, cudaMemcpyDeviceToHost);
  int wrong = 0;  // put-call parity
  for (int i = 0; i < n; ++i) wrong += fabsf(c[i] - p[i] - s[i] + k[i] * expf(-0.03f)) > 1e-3f;
  printf("call %.2f put %.2f wrong %d\n", c[0], p[0], wrong);
}
