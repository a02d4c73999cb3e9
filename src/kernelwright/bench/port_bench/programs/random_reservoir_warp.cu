// domain: random
// hazards: shuffle-mask hard-coded-32
// expect: first 429 wrong 0
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

// Each warp draws one sample: lanes carry keys, the lane with the largest key wins.
__global__ void draw(const int* in, int n, int* out) {
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  unsigned best = 0;
  int value = -1;
  for (int i = warp * 32 + lane; i < n; i += blockDim.x) {
    unsigned key = (i + 1) * 2654435761u;
    if (key > best) best = key, value = in[i];
  }
  for (int o = 16; o > 0; o >>= 1) {
    unsigned k = __shfl_down_sync(0xffffffffu, best, o);
    int v = __shfl_down_sync(0xffffffffu, value, o);
    if (k > best) best = k, value = v;
  }
  if (lane == 0) out[warp] = value;
}

int main() {
  const int n = 1000, warps = 4;
  std::vector<int> in(n), got(warps);
  for (int i = 0; i < n; ++i) in[i] = i * 3;
  int *di, *dout, wrong = 0;
  cudaMalloc(&di, n * 4), cudaMalloc(&dout, warps * 4);
  cudaMemcpy(di, in.data(), n * 4, cudaMemcpyHostToDevice);
  draw<<<1, warps * 32>>>(di, n, dout);
  cudaMemcpy(got.data(), dout, warps * 4, cudaMemcpyDeviceToHost);
  for (int w = 0; w < warps; ++w) {
    unsigned best = 0;
    int value = -1;
    for (int i = 0; i < n; ++i)
      if (i % (warps * 32) / 32 == w && (i + 1) * 2654435761u > best) best = (i + 1) * 2654435761u, value = in[i];
    wrong += got[w] != value;
  }
  printf("first %d wrong %d\n", got[0], wrong);
}
