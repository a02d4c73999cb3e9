// domain: half
// hazards: none
// expect: sum 7162.50 right
#include <cstdio>

#include <cuda_bf16.h>
#include <cuda_runtime.h>

// Pairs of bfloat16: scaled, shifted, and the larger of each pair.
__global__ void scale(const float2* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  __nv_bfloat162 v = __float22bfloat162_rn(in[i]);
  __nv_bfloat162 w = __hfma2(v, __float2bfloat162_rn(0.5f), __float2bfloat162_rn(3.0f));
  out[i] = __bfloat162float(__hmax(__low2bfloat16(w), __high2bfloat16(w)));
}

int main() {
  const int n = 100;
  float2 h[n], *in;
  float got[n], *out, sum = 0;
  for (int i = 0; i < n; ++i) h[i] = make_float2(2.0f * i, 150.0f - i);
  cudaMalloc(&in, sizeof h), cudaMalloc(&out, sizeof got);
  cudaMemcpy(in, h, sizeof h, cudaMemcpyHostToDevice);
  scale<<<2, 64>>>(in, out, n);
  cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost);
  bool right = true;
  for (int i = 0; i < n; ++i) {
    float larger = h[i].x > h[i].y ? h[i].x : h[i].y, want = larger * 0.5f + 3.0f;
    right &= got[i] > want * 0.99f && got[i] < want * 1.01f, sum += got[i];
  }
  printf("sum %.2f %s\n", sum, right ? "right" : "WRONG");
}
