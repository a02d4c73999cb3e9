// domain: sorting
// hazards: none
// expect: checksum 200802036 middle 501 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>


// Merge of sorted halves: each element finds its rank in the other half by bisection.
__device__ int below(const int* p, int n, int v, bool or_same) {
  int low = 0, high = n;
  while (low < high) {
    int mid = (low + high) / 2;
    if (p[mid] < v || (or_same && p[mid] == v)) low = mid + 1; else high = mid;
  }
  return low;
}
__global__ void merge(const int* in, int* out, int width, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int start = i / (2 * width) * 2 * width, at = i - start;
  int left = min(width, n - start), right = min(width, max(0, n - start - width));
  bool is_left = at < width;
  const int* other = in + start + (is_left ? left : 0);
  int rank = is_left ? at : at - left;
  out[start + rank + below(other, is_left ? right : left, in[i], !is_left)] = in[i];
}

int main() {
  const int n = 777;
  std::vector<int> h(n);
  for (int i = 0; i < n; ++i) h[i] = i * 7907 % 997;
  int *a, *b;
  cudaMalloc(&a, n * 4), cudaMalloc(&b, n * 4);
  cudaMemcpy(a, h.data(), n * 4, cudaMemcpyHostToDevice);
  for (int width = 1; width < n; width *= 2) {
    merge<<<(n + 127) / 128, 128>>>(a, b, width, n);
    std::swap(a, b);
  }
  cudaMemcpy(h.data(), a, n * 4, cudaMemcpyDeviceToHost);
  bool right = true;
  long sum = 0;
  for (int i = 0; i < n; ++i) right &= i == 0 || h[i - 1] <= h[i], sum += 1L * i * h[i];
  printf("checksum %ld middle %d %s\n", sum, h[n / 2], right ? "right" : "WRONG");
}
