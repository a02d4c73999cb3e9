// domain: atomics
// hazards: none
// expect: distinct 87 wrong 0
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

#define EMPTY 0xffffffffu
__global__ void insert(const unsigned* keys, int n, unsigned* table, unsigned* counts, unsigned size) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned slot = keys[i] * 2654435761u % size;
  for (;;) {
    unsigned old = atomicCAS(&table[slot], EMPTY, keys[i]);
    if (old == EMPTY || old == keys[i]) break;
    slot = (slot + 1) % size;
  }
  atomicAdd(&counts[slot], 1u);
}

int main() {
  const int n = 600;
  const unsigned size = 257;
  std::vector<unsigned> keys(n), table(size), counts(size);
  for (int i = 0; i < n; ++i) keys[i] = i * i % 173;
  std::vector<unsigned> want(173, 0);
  for (unsigned k : keys) ++want[k];
  unsigned *dk, *dt, *dc;
  cudaMalloc(&dk, n * 4), cudaMalloc(&dt, size * 4), cudaMalloc(&dc, size * 4);
  cudaMemcpy(dk, keys.data(), n * 4, cudaMemcpyHostToDevice);
  cudaMemset(dt, 0xff, size * 4), cudaMemset(dc, 0, size * 4);
  insert<<<5, 128>>>(dk, n, dt, dc, size);
  cudaMemcpy(table.data(), dt, size * 4, cudaMemcpyDeviceToHost);
  cudaMemcpy(counts.data(), dc, size * 4, cudaMemcpyDeviceToHost);
  int wrong = 0, distinct = 0;
  for (unsigned s = 0; s < size; ++s)
    if (table[s] != EMPTY) ++distinct, wrong += counts[s] != want[table[s]];
  printf("distinct %d wrong %d\n", distinct, wrong);
}
