// domain: string
// hazards: ballot-32 lane-mask
// expect: words 343 right
#include <cstdio>
#include <string>

#include <cuda_runtime.h>

__global__ void words(const char* text, int n, int* count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  bool starts = i < n && text[i] != ' ' && (i == 0 || text[i - 1] == ' ');
  unsigned votes = __ballot_sync(0xffffffffu, starts);
  if (threadIdx.x % 32 == 0) atomicAdd(count, __popc(votes));
}

int main() {
  std::string text;
  for (int i = 0; i < 300; ++i) text += i % 7 ? "word " : "a  gap ";
  int want = 300 + 43, got, *count;
  char* d;
  cudaMalloc(&d, text.size()), cudaMalloc(&count, 4);
  cudaMemcpy(d, text.data(), text.size(), cudaMemcpyHostToDevice);
  cudaMemset(count, 0, 4);
  words<<<(int)(text.size() + 255) / 256, 256>>>(d, (int)text.size(), count);
  cudaMemcpy(&got, count, 4, cudaMemcpyDeviceToHost);
  printf("words %d %s\n", got, got == want ? "right" : "WRONG");
}
