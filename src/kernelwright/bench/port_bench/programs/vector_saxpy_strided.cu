// domain: vector
// hazards: none
// expect: sum 89991 wrong 0
#include <cstdio>

#include <cuda_runtime.h>

// A grid-stride loop, so that the grid may be smaller than the data.
__global__ void saxpy(int n, float a, const float* __restrict__ x, float* __restrict__ y) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
    y[i] = fmaf(a, __ldg(x + i), y[i]);
}

int main() {
  const int n = 5003;
  float *x, *y;
  cudaMallocManaged(&x, n * sizeof(float));
  cudaMallocManaged(&y, n * sizeof(float));
  for (int i = 0; i < n; ++i) x[i] = i % 17, y[i] = i % 5;
  saxpy<<<7, 96>>>(n, 2.0f, x, y);
  cudaDeviceSynchronize();
  int wrong = 0;
  long sum = 0;
  for (int i = 0; i < n; ++i) wrong += y[i] != 2.0f * (i % 17) + i % 5, sum += (long)y[i];
  printf("sum %ld wrong %d\n", sum, wrong);
  cudaFree(x), cudaFree(y);
}
