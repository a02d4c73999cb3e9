// domain: signal
// hazards: none
// expect: first -88.0 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>


// Cosine transforms of eight by eight blocks, forth and back.
__constant__ float basis[64];
__global__ void transform(const float* in, float* out, bool is_back) {
  __shared__ float s[8][9], t[8][9];
  int x = threadIdx.x, y = threadIdx.y, base = blockIdx.x * 64;
  s[y][x] = in[base + y * 8 + x];
  __syncthreads();
  float sum = 0;
  for (int k = 0; k < 8; ++k) sum += s[y][k] * (is_back ? basis[k * 8 + x] : basis[x * 8 + k]);
  t[y][x] = sum;
  __syncthreads();
  sum = 0;
  for (int k = 0; k < 8; ++k) sum += t[k][x] * (is_back ? basis[k * 8 + y] : basis[y * 8 + k]);
  out[base + y * 8 + x] = sum;
}

int main() {
  const int blocks = 6, n = blocks * 64;
  float c[64];
  for (int u = 0; u < 8; ++u)
    for (int x = 0; x < 8; ++x) c[u * 8 + x] = (u ? 0.5f : 0.35355339f) * cosf((2 * x + 1) * u * 3.14159265f / 16);
  cudaMemcpyToSymbol(basis, c, sizeof c);
  std::vector<float> h(n), mid(n), got(n);
  for (int i = 0; i < n; ++i) h[i] = i * 37 % 256 - 128;
  float *a, *b;
  cudaMalloc(&a, n * 4), cudaMalloc(&b, n * 4);
  cudaMemcpy(a, h.data(), n * 4, cudaMemcpyHostToDevice);
  transform<<<blocks, dim3(8, 8)>>>(a, b, false);
  cudaMemcpy(mid.data(), b, n * 4, cudaMemcpyDeviceToHost);
  transform<<<blocks, dim3(8, 8)>>>(b, a, true);
  cudaMemcpy(got.data(), a, n * 4, cudaMemcpyDeviceToHost);
  bool right = true;
  double first = 0;
  for (int i = 0; i < n; ++i) right &= fabsf(got[i] - h[i]) < 1e-2f;
  for (int b_ = 0; b_ < blocks; ++b_) first += mid[b_ * 64];
  printf("first %.1f %s\n", first, right ? "right" : "WRONG");
}
