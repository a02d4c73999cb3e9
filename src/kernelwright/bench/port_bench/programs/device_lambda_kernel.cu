// domain: device
// hazards: lambda
// expect: sum 6138 total 2500 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>


// A kernel that takes any callable: functors with state, made on the host.
template <typename F> __global__ void each(int n, F f) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) f(i);
}
struct Scale {
  const int* in;
  int* out;
  int by;
  __device__ void operator()(int i) const { out[i] = in[i] * by + i; }
};
template <typename T, int N> struct Fixed {
  T v[N];
  __host__ __device__ T sum() const { T s = 0; for (T x : v) s += x; return s; }
};
struct Collect {
  Fixed<int, 4> weights;
  int* total;
  __device__ void operator()(int i) const { atomicAdd(total, weights.v[i % 4] * weights.sum()); }
};

int main() {
  const int n = 100;
  std::vector<int> h(n), got(n);
  for (int i = 0; i < n; ++i) h[i] = i % 9;
  int *a, *b, *t, total, sum = 0;
  cudaMalloc(&a, n * 4), cudaMalloc(&b, n * 4), cudaMalloc(&t, 4), cudaMemset(t, 0, 4);
  cudaMemcpy(a, h.data(), n * 4, cudaMemcpyHostToDevice);
  each<<<2, 32>>>(n, Scale{a, b, 3});
  each<<<1, 64>>>(n, Collect{{{1, 2, 3, 4}}, t});
  cudaMemcpy(got.data(), b, n * 4, cudaMemcpyDeviceToHost), cudaMemcpy(&total, t, 4, cudaMemcpyDeviceToHost);
  bool right = total == n / 4 * 10 * 10;
  for (int i = 0; i < n; ++i) right &= got[i] == h[i] * 3 + i, sum += got[i];
  printf("sum %d total %d %s\n", sum, total, right ? "right" : "WRONG");
}
