// domain: geometry
// hazards: none
// expect: sum 16738 full 214 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>


// Escape counts of the Mandelbrot set in fixed point, so that every machine counts alike.
__host__ __device__ int escape(int x0, int y0) {
  int x = 0, y = 0, n = 0;
  while (n < 60 && (1L * x * x + 1L * y * y) >> 24 <= 4) {
    int t = static_cast<int>((1L * x * x - 1L * y * y) >> 12) + x0;
    y = static_cast<int>((2L * x * y) >> 12) + y0, x = t, ++n;
  }
  return n;
}
__global__ void paint(int* out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < w && y < h) out[y * w + x] = escape(-8192 + x * 12288 / w, -4915 + y * 9830 / h);
}

int main() {
  const int w = 40, h = 24;
  std::vector<int> got(w * h);
  int *d, sum = 0, full = 0;
  cudaMalloc(&d, w * h * 4);
  paint<<<dim3(3, 3), dim3(16, 8)>>>(d, w, h);
  cudaMemcpy(got.data(), d, w * h * 4, cudaMemcpyDeviceToHost);
  bool right = true;
  for (int i = 0; i < w * h; ++i) {
    right &= got[i] == escape(-8192 + i % w * 12288 / w, -4915 + i / w * 9830 / h);
    sum += got[i], full += got[i] == 60;
  }
  printf("sum %d full %d %s\n", sum, full, right ? "right" : "WRONG");
}
