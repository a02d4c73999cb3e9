// domain: machine-learning
// hazards: none
// expect: sum 197.400 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>


// Ten steps of Adam with four weights a thread, as vectors.
__global__ void adam(float4* w, const float4* g, float4* m, float4* v, int n, float rate, float b1, float b2) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float *a = &w[i].x, *x = &m[i].x, *y = &v[i].x;
  const float* d = &g[i].x;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    x[k] = 0.9f * x[k] + 0.1f * d[k], y[k] = 0.99f * y[k] + 0.01f * d[k] * d[k];
    a[k] -= rate * (x[k] / b1) / (sqrtf(y[k] / b2) + 1e-8f);
  }
}

int main() {
  const int n = 200;
  std::vector<float> w(n, 1.0f), g(n), want(n);
  for (int i = 0; i < n; ++i) g[i] = (i % 7 - 3) * 0.3f + 0.05f;
  float4 *a, *b, *m, *v;
  cudaMalloc(&a, n * 4), cudaMalloc(&b, n * 4), cudaMalloc(&m, n * 4), cudaMalloc(&v, n * 4);
  cudaMemcpy(a, w.data(), n * 4, cudaMemcpyHostToDevice), cudaMemcpy(b, g.data(), n * 4, cudaMemcpyHostToDevice);
  cudaMemset(m, 0, n * 4), cudaMemset(v, 0, n * 4);
  double p1 = 1, p2 = 1;
  for (int t = 0; t < 10; ++t) {
    p1 *= 0.9, p2 *= 0.99;
    adam<<<1, 64>>>(a, b, m, v, n / 4, 0.01f, 1 - p1, 1 - p2);
  }
  cudaMemcpy(w.data(), a, n * 4, cudaMemcpyDeviceToHost);
  bool right = true;
  double all = 0;  // equal gradients move a weight by the rate in each step
  for (int i = 0; i < n; ++i) {
    double off = w[i] - (1 - (g[i] > 0 ? 0.1 : -0.1));
    right &= off < 1e-4 && off > -1e-4, all += w[i];
  }
  printf("sum %.3f %s\n", all, right ? "right" : "WRONG");
}
