// domain: physics
// hazards: hard-coded-32 ballot-32
// expect: up 213 right
#include <algorithm>
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

// Spins of a row are the bits of a ballot: 32 columns, one warp a row.
__global__ void sweep(const unsigned* in, unsigned* out, int rows, int parity) {
  int lane = threadIdx.x & 31, r = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
  unsigned me = in[r], up = in[(r + rows - 1) % rows], down = in[(r + 1) % rows];
  int near = (up >> lane & 1) + (down >> lane & 1) + (me >> ((lane + 1) & 31) & 1) + (me >> ((lane + 31) & 31) & 1);
  int spin = me >> lane & 1;
  if (((r + lane) & 1) == parity) spin = near > 2 ? 1 : near < 2 ? 0 : spin;
  unsigned bits = __ballot_sync(0xffffffff, spin);
  if (lane == 0) out[r] = bits;
}

int main() {
  const int rows = 16;
  std::vector<unsigned> a(rows), b(rows), got(rows);
  for (int r = 0; r < rows; ++r) a[r] = 0x9e3779b9u * (r + 1);
  unsigned *da, *db;
  cudaMalloc(&da, rows * 4), cudaMalloc(&db, rows * 4);
  cudaMemcpy(da, a.data(), rows * 4, cudaMemcpyHostToDevice);
  for (int s = 0; s < 8; ++s) {
    sweep<<<rows / 4, 128>>>(da, db, rows, s & 1);
    std::swap(da, db);
    for (int r = 0; r < rows; ++r) {
      b[r] = 0;
      for (int x = 0; x < 32; ++x) {
        int near = (a[(r + rows - 1) % rows] >> x & 1) + (a[(r + 1) % rows] >> x & 1) + (a[r] >> ((x + 1) & 31) & 1) + (a[r] >> ((x + 31) & 31) & 1);
        unsigned spin = a[r] >> x & 1;
        if (((r + x) & 1) == (s & 1)) spin = near > 2 ? 1 : near < 2 ? 0 : spin;
        b[r] |= spin << x;
      }
    }
    a.swap(b);
  }
  cudaMemcpy(got.data(), da, rows * 4, cudaMemcpyDeviceToHost);
  int up = 0;
  for (unsigned v : got) up += __builtin_popcount(v);
  printf("up %d %s\n", up, got == a ? "right" : "WRONG");
}
