// domain: libraries
// hazards: shuffle-mask warpSize
// expect: pi ok streams differ yes repeats yes
#include <cmath>
#include <cstdio>

#include <cuda_runtime.h>
#include <curand_kernel.h>

__global__ void throw_darts(unsigned long long seed, int each, unsigned* inside, float* first) {
  const int id = blockIdx.x * blockDim.x + threadIdx.x;
  curandState state;
  curand_init(seed, id, 0, &state);
  unsigned mine = 0;
  for (int i = 0; i < each; ++i) {
    const float x = curand_uniform(&state), y = curand_uniform(&state);
    if (i == 0) first[id] = x;
    mine += x * x + y * y <= 1.0f;
  }
  for (int step = 16; step > 0; step >>= 1) mine += __shfl_xor_sync(0xffffffff, mine, step);
  if (threadIdx.x % warpSize == 0) atomicAdd(inside, mine);
}

int main() {
  const int threads = 256, each = 100;
  unsigned *inside, got;
  float *first, one[threads], two[threads];
  cudaMalloc(&inside, sizeof(unsigned)), cudaMalloc(&first, threads * sizeof(float));
  cudaMemset(inside, 0, sizeof(unsigned));
  throw_darts<<<2, 128>>>(7, each, inside, first);
  cudaMemcpy(&got, inside, sizeof got, cudaMemcpyDeviceToHost);
  cudaMemcpy(one, first, sizeof one, cudaMemcpyDeviceToHost);
  throw_darts<<<2, 128>>>(7, each, inside, first);
  cudaMemcpy(two, first, sizeof two, cudaMemcpyDeviceToHost);
  bool same = true, differ = true;
  for (int i = 0; i < threads; ++i) same = same && one[i] == two[i], differ = differ && (i == 0 || one[i] != one[i - 1]);
  const double pi = 4.0 * got / (threads * each);
  printf("pi %s streams differ %s repeats %s\n", fabs(pi - 3.14159) < 0.05 ? "ok" : "off",
         differ ? "yes" : "no", same ? "yes" : "no");
}
