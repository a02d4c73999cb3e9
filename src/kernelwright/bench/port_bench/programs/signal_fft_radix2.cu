// domain: signal
// hazards: none
// expect: wrong 0
#include <cmath>
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

__global__ void fft(float2* data) {
  __shared__ float2 s[128];
  const int t = threadIdx.x, n = 128;
  for (int i = t; i < n; i += 64) s[__brev(i) >> 25] = data[i];
  __syncthreads();
  for (int len = 2; len <= n; len <<= 1) {
    int half = len / 2, k = t % half, base = t / half * len + k;
    float angle = -6.2831853f * k / len, c = cosf(angle), d = sinf(angle);
    float2 a = s[base], b = s[base + half];
    float2 r = make_float2(b.x * c - b.y * d, b.x * d + b.y * c);
    s[base] = make_float2(a.x + r.x, a.y + r.y);
    s[base + half] = make_float2(a.x - r.x, a.y - r.y);
    __syncthreads();
  }
  for (int i = t; i < n; i += 64) data[i] = s[i];
}

int main() {
  const int n = 128;
  std::vector<float2> h(n), got(n);
  for (int i = 0; i < n; ++i) h[i] = make_float2(cosf(6.2831853f * 5 * i / n) + 0.5f, 0);
  float2* d;
  cudaMalloc(&d, n * sizeof(float2));
  cudaMemcpy(d, h.data(), n * sizeof(float2), cudaMemcpyHostToDevice);
  fft<<<1, 64>>>(d);
  cudaMemcpy(got.data(), d, n * sizeof(float2), cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int k = 0; k < n; ++k) wrong += fabsf(got[k].x - (k == 0 ? 64.0f : k == 5 || k == n - 5 ? 64.0f : 0.0f)) > 1e-3f;
  printf("wrong %d\n", wrong);
}
