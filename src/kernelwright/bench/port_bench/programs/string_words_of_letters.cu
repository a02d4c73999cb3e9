// domain: string
// hazards: none
// expect: most 87 times 16 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>


// Counts of all words of four letters, two bits a letter, in a table in shared memory.
__global__ void words(const char* text, int n, int* table) {
  __shared__ int s[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) s[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i + 3 < n; i += gridDim.x * blockDim.x) {
    unsigned word = 0;
    for (int k = 0; k < 4; ++k) word = word << 2 | (text[i + k] >> 1 & 3);
    atomicAdd(&s[word], 1);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    if (s[i]) atomicAdd(&table[i], s[i]);
}

int main() {
  const int n = 1500;
  std::vector<char> h(n);
  unsigned seed = 7;
  for (char& c : h) seed = seed * 1664525u + 1013904223u, c = "ACGT"[seed >> 30];
  std::vector<int> got(256), want(256);
  for (int i = 0; i + 3 < n; ++i) {
    unsigned word = 0;
    for (int k = 0; k < 4; ++k) word = word << 2 | (h[i + k] >> 1 & 3);
    ++want[word];
  }
  char* d;
  int *t, most = 0;
  cudaMalloc(&d, n), cudaMalloc(&t, 1024), cudaMemset(t, 0, 1024);
  cudaMemcpy(d, h.data(), n, cudaMemcpyHostToDevice);
  words<<<3, 128>>>(d, n, t);
  cudaMemcpy(got.data(), t, 1024, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 256; ++i) most = got[i] > got[most] ? i : most;
  printf("most %d times %d %s\n", most, got[most], got == want ? "right" : "WRONG");
}
