// domain: physics
// hazards: none
// expect: mass 5400165 moment 105284904 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>


// Flow on a lattice of nine directions in whole numbers: mass is kept when particles stream.
__constant__ int cx[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, cy[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
__constant__ int part[9] = {16, 4, 4, 4, 4, 1, 1, 1, 1};
__global__ void step(const int* in, int* out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= w) return;
  int f[9], mass = 0, left;
  for (int k = 0; k < 9; ++k) {
    int fx = (x - cx[k] + w) % w, fy = (y - cy[k] + h) % h;
    mass += f[k] = in[(k * h + fy) * w + fx];
  }
  left = mass;
  for (int k = 1; k < 9; ++k) {
    int v = f[k] + (mass * part[k] / 36 - f[k]) / 2;
    out[(k * h + y) * w + x] = v, left -= v;
  }
  out[y * w + x] = left;
}

int main() {
  const int w = 40, h = 12;
  std::vector<int> f(9 * w * h), got(9 * w * h);
  long mass = 0, after = 0, moment = 0;
  for (size_t i = 0; i < f.size(); ++i) mass += f[i] = 1000 + i * 37 % 501;
  int *a, *b;
  cudaMalloc(&a, f.size() * 4), cudaMalloc(&b, f.size() * 4);
  cudaMemcpy(a, f.data(), f.size() * 4, cudaMemcpyHostToDevice);
  for (int t = 0; t < 10; ++t) {
    step<<<dim3(1, h), 64>>>(a, b, w, h);
    std::swap(a, b);
  }
  cudaMemcpy(got.data(), a, f.size() * 4, cudaMemcpyDeviceToHost);
  for (size_t i = 0; i < got.size(); ++i) after += got[i], moment += (i % w) * got[i];
  printf("mass %ld moment %ld %s\n", after, moment, after == mass ? "right" : "WRONG");
}
