// domain: scan
// hazards: ballot-32 lane-mask
// expect: kept 1002 sum 504792 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

// Stream compaction: a warp writes its survivors together, by ballot and population count.
__global__ void compact(const int* in, int* out, int* count, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 0x1f;
  bool keep = i < n && in[i] % 3 == 0;
  unsigned votes = __ballot_sync(0xffffffffu, keep);
  unsigned before = __popc(votes & ((1u << lane) - 1));
  int base = 0;
  if (lane == 0) base = atomicAdd(count, __popc(votes));
  base = __shfl_sync(0xffffffffu, base, 0);
  if (keep) out[base + before] = in[i];
}

int main() {
  const int n = 3000;
  std::vector<int> h(n);
  long want = 0;
  int wanted = 0;
  for (int i = 0; i < n; ++i) {
    h[i] = i * 37 % 1009;
    if (h[i] % 3 == 0) want += h[i], ++wanted;
  }
  int *in, *out, *count, got;
  cudaMalloc(&in, n * 4), cudaMalloc(&out, n * 4), cudaMalloc(&count, 4);
  cudaMemcpy(in, h.data(), n * 4, cudaMemcpyHostToDevice);
  cudaMemset(count, 0, 4), cudaMemset(out, 0, n * 4);
  compact<<<(n + 191) / 192, 192>>>(in, out, count, n);
  std::vector<int> kept(n);
  cudaMemcpy(&got, count, 4, cudaMemcpyDeviceToHost);
  cudaMemcpy(kept.data(), out, n * 4, cudaMemcpyDeviceToHost);
  long sum = 0;
  for (int v : kept) sum += v;
  printf("kept %d sum %ld %s\n", got, sum, got == wanted && sum == want ? "right" : "WRONG");
}
