// domain: cooperative-groups
// hazards: none
// expect: first 12 wrong 0
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>
#include <cooperative_groups.h>

#define CHECK(call)                                                        \
  do {                                                                     \
    cudaError_t error = (call);                                            \
    if (error != cudaSuccess) {                                            \
      printf("%s: %s\n", #call, cudaGetErrorString(error));                \
      exit(1);                                                             \
    }                                                                      \
  } while (0)

namespace cg = cooperative_groups;
__global__ void relax(int* a, int* b, int n, int steps) {
  cg::grid_group grid = cg::this_grid();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int s = 0; s < steps; ++s) {
    const int* from = s % 2 ? b : a;
    int* to = s % 2 ? a : b;
    if (i < n) to[i] = from[(i + 1) % n] + 1;
    grid.sync();
  }
}

int main() {
  int n = 160, steps = 4;
  std::vector<int> h(n), got(n);
  for (int i = 0; i < n; ++i) h[i] = i * 2;
  int *a, *b;
  cudaMalloc(&a, n * 4), cudaMalloc(&b, n * 4);
  cudaMemcpy(a, h.data(), n * 4, cudaMemcpyHostToDevice);
  void* args[] = {&a, &b, &n, &steps};
  CHECK(cudaLaunchCooperativeKernel((void*)relax, dim3(5), dim3(32), args, 0, 0));
  CHECK(cudaDeviceSynchronize());
  cudaMemcpy(got.data(), a, n * 4, cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += got[i] != h[(i + steps) % n] + steps;
  printf("first %d wrong %d\n", got[0], wrong);
}
