// domain: image
// hazards: constant
// expect: sum 5760667 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>


// Two passes with weights in constant memory and a tile with its margins in shared memory.
__constant__ int weight[5] = {1, 4, 6, 4, 1};
template <bool Down>
__global__ void blur(const int* in, int* out, int w, int h) {
  __shared__ int tile[36];
  int along = blockIdx.x * 32 + threadIdx.x, line = blockIdx.y, n = Down ? h : w;
  for (int i = threadIdx.x; i < 36; i += 32) {
    int at = min(max(static_cast<int>(blockIdx.x) * 32 + i - 2, 0), n - 1);
    tile[i] = Down ? in[at * w + line] : in[line * w + at];
  }
  __syncthreads();
  if (along >= n) return;
  int sum = 0;
  for (int k = 0; k < 5; ++k) sum += weight[k] * tile[threadIdx.x + k];
  (Down ? out[along * w + line] : out[line * w + along]) = sum / 16;
}

int main() {
  const int w = 70, h = 41;
  std::vector<int> in(w * h), mid(w * h), want(w * h), got(w * h);
  for (int i = 0; i < w * h; ++i) in[i] = i * 7919 % 4096;
  const int k[] = {1, 4, 6, 4, 1};
  for (int i = 0; i < w * h; ++i) {
    int sum = 0;
    for (int d = -2; d <= 2; ++d) sum += k[d + 2] * in[i / w * w + std::min(std::max(i % w + d, 0), w - 1)];
    mid[i] = sum / 16;
  }
  for (int i = 0; i < w * h; ++i) {
    int sum = 0;
    for (int d = -2; d <= 2; ++d) sum += k[d + 2] * mid[std::min(std::max(i / w + d, 0), h - 1) * w + i % w];
    want[i] = sum / 16;
  }
  int *a, *b;
  cudaMalloc(&a, w * h * 4), cudaMalloc(&b, w * h * 4);
  cudaMemcpy(a, in.data(), w * h * 4, cudaMemcpyHostToDevice);
  blur<false><<<dim3(3, h), 32>>>(a, b, w, h);
  blur<true><<<dim3(2, w), 32>>>(b, a, w, h);
  cudaMemcpy(got.data(), a, w * h * 4, cudaMemcpyDeviceToHost);
  long sum = 0;
  for (int v : got) sum += v;
  printf("sum %ld %s\n", sum, got == want ? "right" : "WRONG");
}
