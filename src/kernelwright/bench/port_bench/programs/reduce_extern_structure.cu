// domain: reduction
// hazards: dynamic-shared
// expect: sum 12365 low -2000 high 1992 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>


// Dynamic shared memory as a structure: sums and extrema of a block side by side.
struct Part { long sum; int low, high; };
__global__ void parts(const int* in, Part* out, int n) {
  extern __shared__ __align__(16) unsigned char raw[];
  Part* part = reinterpret_cast<Part*>(raw);
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int v = i < n ? in[i] : 0;
  part[threadIdx.x] = {v, v, v};
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      Part &a = part[threadIdx.x], &b = part[threadIdx.x + half];
      a.sum += b.sum, a.low = min(a.low, b.low), a.high = max(a.high, b.high);
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}

int main() {
  const int n = 1000, blocks = 8, threads = 128;
  std::vector<int> h(n);
  long want = 0;
  for (int i = 0; i < n; ++i) h[i] = i * 7919 % 4001 - 2000, want += h[i];
  int* in;
  Part *out, got[blocks], all = {0, 0, 0};
  cudaMalloc(&in, n * 4), cudaMalloc(&out, sizeof got);
  cudaMemcpy(in, h.data(), n * 4, cudaMemcpyHostToDevice);
  parts<<<blocks, threads, threads * sizeof(Part)>>>(in, out, n);
  cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost);
  for (Part& p : got) all.sum += p.sum, all.low = std::min(all.low, p.low), all.high = std::max(all.high, p.high);
  printf("sum %ld low %d high %d %s\n", all.sum, all.low, all.high, all.sum == want ? "right" : "WRONG");
}
