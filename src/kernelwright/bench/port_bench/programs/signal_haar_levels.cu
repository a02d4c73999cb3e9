// domain: signal
// hazards: none
// expect: mean 198 checksum -545 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>


// A Haar wavelet in whole numbers, level after level in shared memory, and exactly undone.
__global__ void forth(const int* in, int* out, int n) {
  __shared__ int s[256];
  int i = threadIdx.x;
  s[2 * i] = in[2 * i], s[2 * i + 1] = in[2 * i + 1];
  __syncthreads();
  for (int width = n; width > 1; width /= 2) {
    int a = 0, b = 0;
    if (i < width / 2) a = s[2 * i], b = s[2 * i + 1];
    __syncthreads();
    if (i < width / 2) s[i] = (a + b) >> 1, s[width / 2 + i] = a - b;
    __syncthreads();
  }
  out[2 * i] = s[2 * i], out[2 * i + 1] = s[2 * i + 1];
}

int main() {
  const int n = 256;
  std::vector<int> h(n), got(n);
  for (int i = 0; i < n; ++i) h[i] = i * 91 % 401;
  int *a, *b, sum = 0;
  cudaMalloc(&a, n * 4), cudaMalloc(&b, n * 4);
  cudaMemcpy(a, h.data(), n * 4, cudaMemcpyHostToDevice);
  forth<<<1, n / 2>>>(a, b, n);
  cudaMemcpy(got.data(), b, n * 4, cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; ++i) sum += got[i] * (i % 11);
  int mean = got[0];
  for (int width = 2; width <= n; width *= 2) {
    std::vector<int> next(width);
    for (int i = 0; i < width / 2; ++i) {
      int low = got[i], d = got[width / 2 + i];
      int a_ = low + ((d + (d & 1)) >> 1);
      next[2 * i] = a_, next[2 * i + 1] = a_ - d;
    }
    for (int i = 0; i < width; ++i) got[i] = next[i];
  }
  printf("mean %d checksum %d %s\n", mean, sum, got == h ? "right" : "WRONG");
}
