// domain: reduction
// hazards: shuffle-mask
// expect: value 886 place 790 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>


// The place of the largest value: value and place travel in one word of 64 bits.
__global__ void largest(const int* in, unsigned long long* best, int n) {
  unsigned long long mine = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    unsigned long long word = static_cast<unsigned long long>(in[i]) << 32 | (0xffffffffu - i);
    mine = word > mine ? word : mine;
  }
  for (int o = 16; o > 0; o >>= 1) {
    unsigned long long other = __shfl_xor_sync(0xffffffffu, mine, o);
    mine = other > mine ? other : mine;
  }
  if (threadIdx.x % 32 == 0) atomicMax(best, mine);
}

int main() {
  const int n = 900;
  std::vector<int> h(n);
  for (int i = 0; i < n; ++i) h[i] = i * 7919 % 887;
  int* d, at = 0;
  unsigned long long *b, got;
  cudaMalloc(&d, n * 4), cudaMalloc(&b, 8), cudaMemset(b, 0, 8);
  cudaMemcpy(d, h.data(), n * 4, cudaMemcpyHostToDevice);
  largest<<<3, 96>>>(d, b, n);
  cudaMemcpy(&got, b, 8, cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; ++i) at = h[i] > h[at] ? i : at;
  int place = 0xffffffffu - static_cast<unsigned>(got);
  printf("value %d place %d %s\n", static_cast<int>(got >> 32), place, place == at ? "right" : "WRONG");
}
