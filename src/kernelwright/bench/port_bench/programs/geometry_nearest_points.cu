// domain: geometry
// hazards: shuffle-mask
// expect: sum 1852 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>


// The nearest of many points: distance and number travel together through shuffles.
__global__ void nearest(const int2* p, const int2* q, int* out, int n) {
  int lane = threadIdx.x & 31, query = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  int best = 1 << 30, at = -1;
  for (int i = lane; i < n; i += 32) {
    int dx = p[i].x - q[query].x, dy = p[i].y - q[query].y, d = dx * dx + dy * dy;
    if (d < best) best = d, at = i;
  }
  for (int o = 16; o > 0; o >>= 1) {
    int far = __shfl_xor_sync(~0u, best, o), other = __shfl_xor_sync(~0u, at, o);
    if (far < best || (far == best && other < at)) best = far, at = other;
  }
  if (lane == 0) out[query] = at;
}

int main() {
  const int n = 150, m = 24;
  std::vector<int2> p(n), q(m);
  std::vector<int> got(m);
  for (int i = 0; i < n; ++i) p[i] = make_int2(i * 37 % 211, i * 91 % 197);
  for (int i = 0; i < m; ++i) q[i] = make_int2(i * 53 % 199, i * 29 % 193);
  int2 *a, *b;
  int *c, sum = 0;
  cudaMalloc(&a, n * 8), cudaMalloc(&b, m * 8), cudaMalloc(&c, m * 4);
  cudaMemcpy(a, p.data(), n * 8, cudaMemcpyHostToDevice), cudaMemcpy(b, q.data(), m * 8, cudaMemcpyHostToDevice);
  nearest<<<m / 4, 128>>>(a, b, c, n);
  cudaMemcpy(got.data(), c, m * 4, cudaMemcpyDeviceToHost);
  bool right = true;
  for (int j = 0; j < m; ++j) {
    int best = 1 << 30, at = -1;
    for (int i = 0; i < n; ++i) {
      int d = (p[i].x - q[j].x) * (p[i].x - q[j].x) + (p[i].y - q[j].y) * (p[i].y - q[j].y);
      if (d < best) best = d, at = i;
    }
    right &= at == got[j], sum += got[j];
  }
  printf("sum %d %s\n", sum, right ? "right" : "WRONG");
}
