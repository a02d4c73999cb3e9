// domain: physics
// hazards: none
// expect: checksum 31520 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>


// Piles of sand topple until none is high; what falls over the edge is lost.
__global__ void topple(const int* in, int* out, int* busy, int w) {
  int x = threadIdx.x, y = blockIdx.x, i = y * w + x;
  int v = in[i] % 4;
  if (x > 0) v += in[i - 1] / 4;
  if (x + 1 < w) v += in[i + 1] / 4;
  if (y > 0) v += in[i - w] / 4;
  if (y + 1 < gridDim.x) v += in[i + w] / 4;
  out[i] = v;
  if (__syncthreads_or(v > 3) && x == 0) atomicExch(busy, 1);
}

int main() {
  const int w = 24;
  std::vector<int> p(w * w), want;
  p[w * (w / 2) + w / 2] = 700;
  want = p;
  for (bool is_high = true; is_high;) {
    is_high = false;
    for (int i = 0; i < w * w; ++i)
      if (want[i] > 3) {
        is_high = true;
        int n = want[i] / 4, x = i % w, y = i / w;
        want[i] %= 4;
        if (x > 0) want[i - 1] += n;
        if (x + 1 < w) want[i + 1] += n;
        if (y > 0) want[i - w] += n;
        if (y + 1 < w) want[i + w] += n;
      }
  }
  int *a, *b, *busy, is_busy = 1, sum = 0;
  cudaMalloc(&a, w * w * 4), cudaMalloc(&b, w * w * 4), cudaMalloc(&busy, 4);
  cudaMemcpy(a, p.data(), w * w * 4, cudaMemcpyHostToDevice);
  while (is_busy) {
    cudaMemset(busy, 0, 4);
    topple<<<w, w>>>(a, b, busy, w);
    std::swap(a, b);
    cudaMemcpy(&is_busy, busy, 4, cudaMemcpyDeviceToHost);
  }
  cudaMemcpy(p.data(), a, w * w * 4, cudaMemcpyDeviceToHost);
  for (int i = 0; i < w * w; ++i) sum += p[i] * (i % 97);
  printf("checksum %d %s\n", sum, p == want ? "right" : "WRONG");
}
