// domain: database
// hazards: none
// expect: groups 22 checksum 13671 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>


// Sums by key in a table of open addressing that compare-and-swap fills.
__global__ void group(const int* key, const int* value, int* slots, int* sums, int n, int size) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  for (unsigned at = key[i] * 2654435761u % size;; at = (at + 1) % size) {
    int was = atomicCAS(&slots[at], -1, key[i]);
    if (was == -1 || was == key[i]) {
      atomicAdd(&sums[at], value[i]);
      return;
    }
  }
}

int main() {
  const int n = 600, size = 128, keys = 50;
  std::vector<int> key(n), value(n), slots(size), sums(size), want(keys);
  for (int i = 0; i < n; ++i) key[i] = i * i % keys, value[i] = i % 9 - 3, want[key[i]] += value[i];
  int *k, *v, *s, *t;
  cudaMalloc(&k, n * 4), cudaMalloc(&v, n * 4), cudaMalloc(&s, size * 4), cudaMalloc(&t, size * 4);
  cudaMemcpy(k, key.data(), n * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(v, value.data(), n * 4, cudaMemcpyHostToDevice);
  cudaMemset(s, 0xff, size * 4), cudaMemset(t, 0, size * 4);
  group<<<5, 128>>>(k, v, s, t, n, size);
  cudaMemcpy(slots.data(), s, size * 4, cudaMemcpyDeviceToHost);
  cudaMemcpy(sums.data(), t, size * 4, cudaMemcpyDeviceToHost);
  bool right = true;
  int groups = 0, checksum = 0;
  for (int i = 0; i < size; ++i)
    if (slots[i] >= 0) right &= sums[i] == want[slots[i]], ++groups, checksum += slots[i] * sums[i];
  printf("groups %d checksum %d %s\n", groups, checksum, right ? "right" : "WRONG");
}
