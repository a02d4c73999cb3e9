// domain: half
// hazards: shuffle-mask hard-coded-32
// expect: dot 1261 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>
#include <cuda_fp16.h>

__global__ void dot(const __half2* a, const __half2* b, float* out, int n) {
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += 32) {
    __half2 p = __hmul2(a[i], b[i]);
    sum += __low2float(p) + __high2float(p);
  }
  for (int o = 16; o; o >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, o);
  if (threadIdx.x == 0) *out = sum;
}

int main() {
  const int n = 150;
  std::vector<__half2> a(n), b(n);
  float want = 0, got;
  for (int i = 0; i < n; ++i) {
    a[i] = __floats2half2_rn(i % 8, 1), b[i] = __floats2half2_rn(2, i % 4);
    want += 2 * (i % 8) + i % 4;
  }
  __half2 *da, *db;
  float* out;
  cudaMalloc(&da, n * 4), cudaMalloc(&db, n * 4), cudaMalloc(&out, 4);
  cudaMemcpy(da, a.data(), n * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(db, b.data(), n * 4, cudaMemcpyHostToDevice);
  dot<<<1, 32>>>(da, db, out, n);
  cudaMemcpy(&got, out, 4, cudaMemcpyDeviceToHost);
  printf("dot %.0f %s\n", got, got == want ? "right" : "WRONG");
}
