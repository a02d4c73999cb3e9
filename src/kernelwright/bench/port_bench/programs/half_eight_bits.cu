// domain: half
// hazards: fp8
// expect: sum 445.768 right
#include <cstdio>

#include <cuda_fp8.h>
#include <cuda_runtime.h>

// Floats of eight bits in both forms, packed and read back.
__global__ void pack(const float* in, unsigned char* e4, unsigned char* e5, float* back, int n) {
  int i = threadIdx.x;
  if (i >= n) return;
  e4[i] = __nv_cvt_float_to_fp8(in[i], __NV_SATFINITE, __NV_E4M3);
  e5[i] = __nv_cvt_float_to_fp8(in[i], __NV_SATFINITE, __NV_E5M2);
  __nv_fp8_e4m3 kept(in[i]);
  back[i] = static_cast<float>(kept);
}

int main() {
  const int n = 8;
  const float h[n] = {0.015625f, 0.001953125f, 448.0f, 500.0f, -3.3f, 1.0625f, 0.0f, -57344.0f};
  const unsigned char want4[n] = {0x08, 0x01, 0x7e, 0x7e, 0xc5, 0x38, 0x00, 0xfe};
  const unsigned char want5[n] = {0x24, 0x18, 0x5f, 0x60, 0xc3, 0x3c, 0x00, 0xfb};
  float *in, *back, kept[n], sum = 0;
  unsigned char *a, *b, got4[n], got5[n];
  cudaMalloc(&in, sizeof h), cudaMalloc(&back, sizeof h), cudaMalloc(&a, n), cudaMalloc(&b, n);
  cudaMemcpy(in, h, sizeof h, cudaMemcpyHostToDevice);
  pack<<<1, 32>>>(in, a, b, back, n);
  cudaMemcpy(got4, a, n, cudaMemcpyDeviceToHost), cudaMemcpy(got5, b, n, cudaMemcpyDeviceToHost);
  cudaMemcpy(kept, back, sizeof h, cudaMemcpyDeviceToHost);
  bool right = true;
  for (int i = 0; i < n; ++i) right &= got4[i] == want4[i] && got5[i] == want5[i], sum += kept[i];
  printf("sum %g %s\n", sum, right ? "right" : "WRONG");
}
