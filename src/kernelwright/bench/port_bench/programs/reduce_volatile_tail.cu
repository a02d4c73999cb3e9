// domain: reduction
// hazards: implicit-warp-synchrony
// expect: sum 10184 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

// The classic tree whose last six steps trust that a warp runs in lockstep.
template <unsigned N>
__device__ void tail(volatile int* s, unsigned t) {
  if (N >= 64) s[t] += s[t + 32];
  if (N >= 32) s[t] += s[t + 16];
  if (N >= 16) s[t] += s[t + 8];
  if (N >= 8) s[t] += s[t + 4];
  if (N >= 4) s[t] += s[t + 2];
  if (N >= 2) s[t] += s[t + 1];
}
template <unsigned N>
__global__ void reduce(const int* in, int* out) {
  extern __shared__ int data[];
  unsigned t = threadIdx.x, i = blockIdx.x * (N * 2) + t;
  data[t] = in[i] + in[i + N];
  __syncthreads();
  if (N >= 256) { if (t < 128) data[t] += data[t + 128]; __syncthreads(); }
  if (N >= 128) { if (t < 64) data[t] += data[t + 64]; __syncthreads(); }
  if (t < 32) tail<N>(data, t);
  if (t == 0) out[blockIdx.x] = data[0];
}

int main() {
  const int blocks = 5, n = blocks * 512;
  std::vector<int> h(n), got(blocks);
  long want = 0;
  for (int i = 0; i < n; ++i) h[i] = i % 23 - 7, want += h[i];
  int *in, *out;
  cudaMalloc(&in, n * 4), cudaMalloc(&out, blocks * 4);
  cudaMemcpy(in, h.data(), n * 4, cudaMemcpyHostToDevice);
  reduce<256><<<blocks, 256, 256 * sizeof(int)>>>(in, out);
  cudaMemcpy(got.data(), out, blocks * 4, cudaMemcpyDeviceToHost);
  long sum = 0;
  for (int v : got) sum += v;
  printf("sum %ld %s\n", sum, sum == want ? "right" : "WRONG");
}
