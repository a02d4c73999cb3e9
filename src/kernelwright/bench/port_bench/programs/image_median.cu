// domain: image
// hazards: none
// expect: sum 96885 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>


// Median of nine by a network of minima and maxima; edges are clamped.
__device__ void order(int& a, int& b) { int low = min(a, b); b = max(a, b), a = low; }
__global__ void median(const unsigned char* in, unsigned char* out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  int p[9];
  for (int k = 0; k < 9; ++k)
    p[k] = in[min(max(y + k / 3 - 1, 0), h - 1) * w + min(max(x + k % 3 - 1, 0), w - 1)];
  for (int i = 0; i < 5; ++i)
    for (int j = i + 1; j < 9; ++j) order(p[i], p[j]);
  out[y * w + x] = p[4];
}

int main() {
  const int w = 37, h = 21;
  std::vector<unsigned char> in(w * h), got(w * h);
  for (int i = 0; i < w * h; ++i) in[i] = i * 197 % 251;
  unsigned char *a, *b;
  cudaMalloc(&a, w * h), cudaMalloc(&b, w * h);
  cudaMemcpy(a, in.data(), w * h, cudaMemcpyHostToDevice);
  median<<<dim3(3, 3), dim3(16, 8)>>>(a, b, w, h);
  cudaMemcpy(got.data(), b, w * h, cudaMemcpyDeviceToHost);
  bool right = true;
  int sum = 0;
  for (int y = 0; y < h; ++y)
    for (int x = 0; x < w; ++x) {
      int below = 0, same = 0, m = got[y * w + x];
      for (int k = 0; k < 9; ++k) {
        int v = in[std::min(std::max(y + k / 3 - 1, 0), h - 1) * w + std::min(std::max(x + k % 3 - 1, 0), w - 1)];
        below += v < m, same += v == m;
      }
      right &= below <= 4 && below + same >= 5, sum += m;
    }
  printf("sum %d %s\n", sum, right ? "right" : "WRONG");
}
