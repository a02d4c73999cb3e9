// domain: image
// hazards: match lane-mask ballot-32
// expect: bin0 375 bin9 150 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

// Lanes with the same bin elect one to add for all.
__global__ void histogram(const unsigned char* in, int n, unsigned* bins) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned active = __ballot_sync(0xffffffffu, i < n);
  if (i < n) {
    int bin = in[i] & 15;
    unsigned peers = __match_any_sync(active, bin);
    if ((threadIdx.x & 31) == __ffs(peers) - 1) atomicAdd(&bins[bin], (unsigned)__popc(peers));
  }
}

int main() {
  const int n = 1500;
  std::vector<unsigned char> in(n);
  std::vector<unsigned> want(16, 0), got(16);
  for (int i = 0; i < n; ++i) in[i] = (unsigned char)(i * i / 5), ++want[in[i] & 15];
  unsigned char* di;
  unsigned* db;
  cudaMalloc(&di, n), cudaMalloc(&db, 64);
  cudaMemcpy(di, in.data(), n, cudaMemcpyHostToDevice);
  cudaMemset(db, 0, 64);
  histogram<<<(n + 127) / 128, 128>>>(di, n, db);
  cudaMemcpy(got.data(), db, 64, cudaMemcpyDeviceToHost);
  printf("bin0 %u bin9 %u %s\n", got[0], got[9], got == want ? "right" : "WRONG");
}
