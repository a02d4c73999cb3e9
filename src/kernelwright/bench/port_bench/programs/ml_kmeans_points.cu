// domain: machine-learning
// hazards: none
// expect: checksum 11817 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>


// Means of clusters in whole numbers: nearest centre by thread, sums by atomics in shared memory.
__global__ void assign(const int2* p, const int2* centre, int* sums, int n, int k) {
  __shared__ int s[24];
  for (int i = threadIdx.x; i < 3 * k; i += blockDim.x) s[i] = 0;
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    int best = 1 << 30, at = 0;
    for (int c = 0; c < k; ++c) {
      int dx = p[i].x - centre[c].x, dy = p[i].y - centre[c].y;
      if (dx * dx + dy * dy < best) best = dx * dx + dy * dy, at = c;
    }
    atomicAdd(&s[3 * at], p[i].x), atomicAdd(&s[3 * at + 1], p[i].y), atomicAdd(&s[3 * at + 2], 1);
  }
  __syncthreads();
  for (int j = threadIdx.x; j < 3 * k; j += blockDim.x) atomicAdd(&sums[j], s[j]);
}
__global__ void move(int2* centre, const int* sums, int k) {
  int c = threadIdx.x;
  if (c < k && sums[3 * c + 2]) centre[c] = make_int2(sums[3 * c] / sums[3 * c + 2], sums[3 * c + 1] / sums[3 * c + 2]);
}

int main() {
  const int n = 400, k = 6;
  std::vector<int2> p(n), centre(k), want(k);
  for (int i = 0; i < n; ++i) p[i] = make_int2(i % 5 * 200 + i * 37 % 90, i % 3 * 300 + i * 53 % 110);
  for (int c = 0; c < k; ++c) centre[c] = want[c] = p[c * 61];
  int2 *a, *b;
  int* s;
  cudaMalloc(&a, n * 8), cudaMalloc(&b, k * 8), cudaMalloc(&s, 3 * k * 4);
  cudaMemcpy(a, p.data(), n * 8, cudaMemcpyHostToDevice), cudaMemcpy(b, centre.data(), k * 8, cudaMemcpyHostToDevice);
  for (int round = 0; round < 6; ++round) {
    cudaMemset(s, 0, 3 * k * 4);
    assign<<<4, 128>>>(a, b, s, n, k);
    move<<<1, 32>>>(b, s, k);
    std::vector<int> sums(3 * k);
    for (int2 v : p) {
      int best = 1 << 30, at = 0;
      for (int c = 0; c < k; ++c) {
        int d = (v.x - want[c].x) * (v.x - want[c].x) + (v.y - want[c].y) * (v.y - want[c].y);
        if (d < best) best = d, at = c;
      }
      sums[3 * at] += v.x, sums[3 * at + 1] += v.y, ++sums[3 * at + 2];
    }
    for (int c = 0; c < k; ++c)
      if (sums[3 * c + 2]) want[c] = make_int2(sums[3 * c] / sums[3 * c + 2], sums[3 * c + 1] / sums[3 * c + 2]);
  }
  cudaMemcpy(centre.data(), b, k * 8, cudaMemcpyDeviceToHost);
  bool right = true;
  int all = 0;
  for (int c = 0; c < k; ++c) right &= centre[c].x == want[c].x && centre[c].y == want[c].y, all += centre[c].x * (c + 1) + centre[c].y;
  printf("checksum %d %s\n", all, right ? "right" : "WRONG");
}
