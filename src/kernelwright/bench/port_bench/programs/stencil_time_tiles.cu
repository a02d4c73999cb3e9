// domain: stencil
// hazards: none
// expect: sum 564131 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>


// Four steps in time inside one tile, whose margin shrinks by one cell a step.
__global__ void steps(const int* in, int* out, int n) {
  __shared__ int a[72], b[72];
  int start = blockIdx.x * 64 - 4;
  for (int i = threadIdx.x; i < 72; i += 64) a[i] = start + i >= 0 && start + i < n ? in[start + i] : 0;
  __syncthreads();
  int *from = a, *to = b;
  for (int t = 1; t <= 4; ++t) {
    for (int i = threadIdx.x + t; i < 72 - t; i += 64)
      to[i] = start + i >= 0 && start + i < n ? (from[i - 1] + 2 * from[i] + from[i + 1]) / 4 : 0;
    __syncthreads();
    int* last = from;
    from = to, to = last;
  }
  int at = start + 4 + threadIdx.x;
  if (at < n) out[at] = from[threadIdx.x + 4];
}

int main() {
  const int n = 230;
  std::vector<int> h(n), got(n), next(n);
  for (int i = 0; i < n; ++i) h[i] = i * 7919 % 5000;
  int *a, *b, sum = 0;
  cudaMalloc(&a, n * 4), cudaMalloc(&b, n * 4);
  cudaMemcpy(a, h.data(), n * 4, cudaMemcpyHostToDevice);
  steps<<<4, 64>>>(a, b, n);
  cudaMemcpy(got.data(), b, n * 4, cudaMemcpyDeviceToHost);
  for (int t = 0; t < 4; ++t) {
    for (int i = 0; i < n; ++i) next[i] = ((i ? h[i - 1] : 0) + 2 * h[i] + (i + 1 < n ? h[i + 1] : 0)) / 4;
    h = next;
  }
  for (int v : got) sum += v;
  printf("sum %d %s\n", sum, got == h ? "right" : "WRONG");
}
