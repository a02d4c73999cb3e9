// domain: stencil
// hazards: none
// expect: sum 89970 wrong 0
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

#define RADIUS 3
#define BLOCK 64
__global__ void stencil(const int* in, int* out, int n) {
  __shared__ int tile[BLOCK + 2 * RADIUS];
  int g = blockIdx.x * blockDim.x + threadIdx.x, l = threadIdx.x + RADIUS;
  tile[l] = in[g + RADIUS];
  if (threadIdx.x < RADIUS) {
    tile[l - RADIUS] = in[g];
    tile[l + BLOCK] = in[g + RADIUS + BLOCK];
  }
  __syncthreads();
  int sum = 0;
  for (int o = -RADIUS; o <= RADIUS; ++o) sum += tile[l + o];
  out[g] = sum;
}

int main() {
  const int n = 640;
  std::vector<int> h(n + 2 * RADIUS), got(n);
  for (int i = 0; i < (int)h.size(); ++i) h[i] = i * i % 41;
  int *in, *out;
  cudaMalloc(&in, h.size() * 4), cudaMalloc(&out, n * 4);
  cudaMemcpy(in, h.data(), h.size() * 4, cudaMemcpyHostToDevice);
  stencil<<<n / BLOCK, BLOCK>>>(in, out, n);
  cudaMemcpy(got.data(), out, n * 4, cudaMemcpyDeviceToHost);
  int wrong = 0;
  long sum = 0;
  for (int i = 0; i < n; ++i) {
    int want = 0;
    for (int o = 0; o <= 2 * RADIUS; ++o) want += h[i + o];
    wrong += want != got[i], sum += got[i];
  }
  printf("sum %ld wrong %d\n", sum, wrong);
}
