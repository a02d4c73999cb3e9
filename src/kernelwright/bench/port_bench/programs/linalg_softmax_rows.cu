// domain: linear-algebra
// hazards: shuffle-mask warpSize shared-size
// expect: rows 5 wrong 0
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

__device__ float warp_max(float v) {
  for (int m = warpSize / 2; m > 0; m /= 2) v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, m));
  return v;
}
__device__ float warp_sum(float v) {
  for (int m = warpSize / 2; m > 0; m /= 2) v += __shfl_xor_sync(0xffffffff, v, m);
  return v;
}
__global__ void softmax(const float* in, float* out, int n) {
  __shared__ float s[32];
  const int lane = threadIdx.x % warpSize, warp = threadIdx.x / warpSize, warps = blockDim.x / warpSize;
  const float* row = in + blockIdx.x * n;
  float top = -INFINITY;
  for (int i = threadIdx.x; i < n; i += blockDim.x) top = fmaxf(top, row[i]);
  top = warp_max(top);
  if (lane == 0) s[warp] = top;
  __syncthreads();
  top = warp_max(lane < warps ? s[lane] : -INFINITY);
  __syncthreads();
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum += expf(row[i] - top);
  sum = warp_sum(sum);
  if (lane == 0) s[warp] = sum;
  __syncthreads();
  sum = warp_sum(lane < warps ? s[lane] : 0.0f);
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[blockIdx.x * n + i] = expf(row[i] - top) / sum;
}

int main() {
  const int rows = 5, n = 300;
  std::vector<float> in(rows * n), got(rows * n);
  for (int i = 0; i < rows * n; ++i) in[i] = (i * 37 % 101) * 0.1f;
  float *di, *dout;
  cudaMalloc(&di, in.size() * 4), cudaMalloc(&dout, in.size() * 4);
  cudaMemcpy(di, in.data(), in.size() * 4, cudaMemcpyHostToDevice);
  softmax<<<rows, 128>>>(di, dout, n);
  cudaMemcpy(got.data(), dout, in.size() * 4, cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int r = 0; r < rows; ++r) {
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += exp((double)in[r * n + i]);
    for (int i = 0; i < n; ++i) wrong += fabs(got[r * n + i] - exp((double)in[r * n + i]) / sum) > 1e-6;
  }
  printf("rows %d wrong %d\n", rows, wrong);
}
