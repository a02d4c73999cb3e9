// domain: reduction
// hazards: warpSize shuffle-mask shared-size
// expect: dot -2.0 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

__global__ void dot(const float* a, const float* b, float* out, int n) {
  extern __shared__ float part[];
  float v = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) v += a[i] * b[i];
  for (int o = warpSize / 2; o; o >>= 1) v += __shfl_xor_sync(0xffffffffu, v, o);
  if (threadIdx.x % warpSize == 0) part[threadIdx.x / warpSize] = v;
  __syncthreads();
  if (threadIdx.x == 0) {
    float total = 0;
    for (int i = 0; i < blockDim.x / warpSize; ++i) total += part[i];
    *out = total;
  }
}

int main() {
  cudaDeviceProp prop;
  cudaGetDeviceProperties(&prop, 0);
  const int n = 777, threads = 192;
  std::vector<float> a(n), b(n);
  double want = 0;
  for (int i = 0; i < n; ++i) a[i] = i % 10, b[i] = i % 3 - 1, want += a[i] * b[i];
  float *da, *db, *out, got;
  cudaMalloc(&da, n * 4), cudaMalloc(&db, n * 4), cudaMalloc(&out, 4);
  cudaMemcpy(da, a.data(), n * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(db, b.data(), n * 4, cudaMemcpyHostToDevice);
  dot<<<1, threads, threads / prop.warpSize * sizeof(float)>>>(da, db, out, n);
  cudaMemcpy(&got, out, 4, cudaMemcpyDeviceToHost);
  printf("dot %.1f %s\n", got, got == want ? "right" : "WRONG");
}
