// domain: stencil
// hazards: none
// expect: sum 667108 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>


// A sum over the 27 neighbours in a cube, blocks of three dimensions, wrapped edges.
__global__ void around(const int* in, int* out, int n) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  int z = blockIdx.z * blockDim.z + threadIdx.z, sum = 0;
  if (x >= n || y >= n || z >= n) return;
  for (int k = 0; k < 27; ++k) {
    int a = (x + k % 3 + n - 1) % n, b = (y + k / 3 % 3 + n - 1) % n, c = (z + k / 9 + n - 1) % n;
    sum += in[(c * n + b) * n + a] * (k + 1);
  }
  out[(z * n + y) * n + x] = sum % 1009;
}

int main() {
  const int n = 11;
  std::vector<int> h(n * n * n), got(n * n * n);
  for (size_t i = 0; i < h.size(); ++i) h[i] = i * 71 % 211;
  int *a, *b;
  cudaMalloc(&a, h.size() * 4), cudaMalloc(&b, h.size() * 4);
  cudaMemcpy(a, h.data(), h.size() * 4, cudaMemcpyHostToDevice);
  around<<<dim3(3, 3, 6), dim3(4, 4, 2)>>>(a, b, n);
  cudaMemcpy(got.data(), b, h.size() * 4, cudaMemcpyDeviceToHost);
  bool right = true;
  int all = 0;
  for (int i = 0; i < n * n * n; ++i) {
    int x = i % n, y = i / n % n, z = i / n / n, sum = 0;
    for (int k = 0; k < 27; ++k)
      sum += h[((z + k / 9 + n - 1) % n * n + (y + k / 3 % 3 + n - 1) % n) * n + (x + k % 3 + n - 1) % n] * (k + 1);
    right &= got[i] == sum % 1009, all += got[i];
  }
  printf("sum %d %s\n", all, right ? "right" : "WRONG");
}
