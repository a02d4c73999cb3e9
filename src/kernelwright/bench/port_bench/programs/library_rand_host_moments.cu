// domain: libraries
// hazards: shuffle-mask hard-coded-32
// expect: mean ok variance ok uniform ok
#include <cmath>
#include <cstdio>

#include <cuda_runtime.h>
#include <curand.h>

__global__ void moments(const float* x, int n, double* sums) {
  double first = 0, second = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) first += x[i], second += x[i] * x[i];
  for (int step = 16; step > 0; step >>= 1) {
    first += __shfl_down_sync(0xffffffff, first, step);
    second += __shfl_down_sync(0xffffffff, second, step);
  }
  if ((threadIdx.x & 31) == 0) atomicAdd(&sums[0], first), atomicAdd(&sums[1], second);
}

int main() {
  const int n = 20000;
  float* x;
  double *sums, got[2];
  cudaMalloc(&x, n * sizeof(float)), cudaMalloc(&sums, 2 * sizeof(double));
  curandGenerator_t generator;
  curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_PHILOX4_32_10);
  curandSetPseudoRandomGeneratorSeed(generator, 1234ULL);
  curandGenerateNormal(generator, x, n, 2.0f, 3.0f);
  cudaMemset(sums, 0, 2 * sizeof(double));
  moments<<<1, 128>>>(x, n, sums);
  cudaMemcpy(got, sums, sizeof got, cudaMemcpyDeviceToHost);
  const double mean = got[0] / n, variance = got[1] / n - mean * mean;
  curandGenerateUniform(generator, x, n);
  cudaMemset(sums, 0, 2 * sizeof(double));
  moments<<<1, 128>>>(x, n, sums);
  cudaMemcpy(got, sums, sizeof got, cudaMemcpyDeviceToHost);
  printf("mean %s variance %s uniform %s\n", fabs(mean - 2) < 0.1 ? "ok" : "off",
         fabs(variance - 9) < 0.5 ? "ok" : "off", fabs(got[0] / n - 0.5) < 0.02 ? "ok" : "off");
  curandDestroyGenerator(generator);
}
