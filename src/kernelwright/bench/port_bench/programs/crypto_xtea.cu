// domain: crypto
// hazards: none
// expect: first f9fd48a1234acc81 wrong 0
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

__global__ void encrypt(uint2* block, const unsigned* key, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned a = block[i].x, b = block[i].y, sum = 0;
  for (int r = 0; r < 32; ++r) {
    a += ((b << 4 ^ b >> 5) + b) ^ (sum + key[sum & 3]);
    sum += 0x9e3779b9u;
    b += ((a << 4 ^ a >> 5) + a) ^ (sum + key[sum >> 11 & 3]);
  }
  block[i] = make_uint2(a, b);
}

int main() {
  const int n = 100;
  std::vector<uint2> h(n), got(n);
  const unsigned key[4] = {1, 2, 3, 4};
  for (int i = 0; i < n; ++i) h[i] = make_uint2(i, ~i);
  uint2* d;
  unsigned* dk;
  cudaMalloc(&d, n * 8), cudaMalloc(&dk, 16);
  cudaMemcpy(d, h.data(), n * 8, cudaMemcpyHostToDevice);
  cudaMemcpy(dk, key, 16, cudaMemcpyHostToDevice);
  encrypt<<<2, 64>>>(d, dk, n);
  cudaMemcpy(got.data(), d, n * 8, cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < n; ++i) {
    unsigned a = got[i].x, b = got[i].y, sum = 0x9e3779b9u * 32;
    for (int r = 0; r < 32; ++r) {
      b -= ((a << 4 ^ a >> 5) + a) ^ (sum + key[sum >> 11 & 3]);
      sum -= 0x9e3779b9u;
      a -= ((b << 4 ^ b >> 5) + b) ^ (sum + key[sum & 3]);
    }
    wrong += a != h[i].x || b != h[i].y;
  }
  printf("first %08x%08x wrong %d\n", got[0].x, got[0].y, wrong);
}
