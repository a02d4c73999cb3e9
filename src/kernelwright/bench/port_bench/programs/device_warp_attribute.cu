// domain: device
// hazards: warpSize shuffle-mask
// expect: width 32 warps 8 sums 496 7664
// The warp's size is asked of the device and decides about the launch and the memory.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void sums(const int* in, int* out, int width) {
  int v = in[blockIdx.x * blockDim.x + threadIdx.x];
  for (int step = width / 2; step > 0; step /= 2) v += __shfl_down_sync(0xffffffffu, v, step);
  if (threadIdx.x % width == 0) out[(blockIdx.x * blockDim.x + threadIdx.x) / width] = v;
}

int main() {
  int width = 0;
  if (cudaDeviceGetAttribute(&width, cudaDevAttrWarpSize, 0) != cudaSuccess) return 1;
  const int n = 256, warps = n / width;
  int *in, *out;
  cudaMallocManaged(&in, n * sizeof(int));
  cudaMallocManaged(&out, warps * sizeof(int));
  for (int i = 0; i < n; ++i) in[i] = i;
  sums<<<2, n / 2>>>(in, out, width);
  cudaDeviceSynchronize();
  printf("width %d warps %d sums %d %d\n", width, warps, out[0], out[warps - 1]);
}
