// domain: string
// hazards: none
// expect: first 333 count 2 right
#include <cstdio>
#include <string>

#include <cuda_runtime.h>

__constant__ char pattern[16];
__global__ void search(const char* text, int n, int m, int* first, int* count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i + m > n) return;
  for (int k = 0; k < m; ++k)
    if (text[i + k] != pattern[k]) return;
  atomicMin(first, i);
  atomicAdd(count, 1);
}

int main() {
  std::string text, word = "abcab";
  for (int i = 0; i < 900; ++i) text += (char)('a' + i * i % 7 % 3);
  text.replace(333, 5, word), text.replace(777, 5, word);
  int found = 0, at = -1;
  for (size_t p = text.find(word); p != std::string::npos; p = text.find(word, p + 1)) found++, at = at < 0 ? (int)p : at;
  char* d;
  int *first, *count, h[2] = {1 << 30, 0};
  cudaMalloc(&d, text.size()), cudaMalloc(&first, 8);
  count = first + 1;
  cudaMemcpyToSymbol(pattern, word.data(), word.size());
  cudaMemcpy(d, text.data(), text.size(), cudaMemcpyHostToDevice);
  cudaMemcpy(first, h, 8, cudaMemcpyHostToDevice);
  search<<<(int)(text.size() + 99) / 100, 100>>>(d, (int)text.size(), (int)word.size(), first, count);
  cudaMemcpy(h, first, 8, cudaMemcpyDeviceToHost);
  printf("first %d count %d %s\n", h[0], h[1], h[0] == at && h[1] == found ? "right" : "WRONG");
}
