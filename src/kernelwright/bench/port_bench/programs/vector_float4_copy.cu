// domain: vector
// hazards: none
// expect: sum 25142 wrong 0
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

__global__ void scale(const float4* in, float4* out, int n) {
  const int i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i >= n) return;
  float4 v = in[i];
  out[i] = make_float4(v.x * 2.0f, v.y * 3.0f, v.z * 4.0f, v.w * 5.0f);
}

int main() {
  const int n = 300;
  std::vector<float> h(4 * n);
  for (int i = 0; i < 4 * n; ++i) h[i] = i % 13;
  float4 *in, *out;
  cudaMalloc(&in, n * sizeof(float4)), cudaMalloc(&out, n * sizeof(float4));
  cudaMemcpy(in, h.data(), n * sizeof(float4), cudaMemcpyHostToDevice);
  scale<<<3, 128>>>(in, out, n);
  std::vector<float> got(4 * n);
  cudaMemcpy(got.data(), out, n * sizeof(float4), cudaMemcpyDeviceToHost);
  int wrong = 0;
  long sum = 0;
  for (int i = 0; i < 4 * n; ++i) wrong += got[i] != h[i] * (2 + i % 4), sum += (long)got[i];
  printf("sum %ld wrong %d\n", sum, wrong);
  cudaFree(in), cudaFree(out);
}
