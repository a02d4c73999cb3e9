// domain: geometry
// hazards: none
// expect: inside 1744 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>


// Points inside a polygon in constant memory, by the parity of crossings.
__constant__ int2 corner[8];
__global__ void inside(int* count, int w, int corners) {
  int x = threadIdx.x, y = blockIdx.x;
  bool is_in = false;
  for (int i = 0, j = corners - 1; i < corners; j = i++) {
    int2 a = corner[i], b = corner[j];
    if ((a.y > y) != (b.y > y)) {
      long side = 1L * (b.x - a.x) * (y - a.y) - 1L * (x - a.x) * (b.y - a.y);
      is_in ^= (b.y > a.y) == (side > 0);
    }
  }
  int n = __syncthreads_count(is_in);
  if (x == 0) atomicAdd(count, n);
}

int main() {
  const int w = 64, corners = 8;
  int2 h[corners] = {{3, 5}, {30, 2}, {60, 9}, {40, 30}, {61, 55}, {33, 40}, {10, 60}, {14, 33}};
  cudaMemcpyToSymbol(corner, h, sizeof h);
  int *d, got, want = 0;
  cudaMalloc(&d, 4), cudaMemset(d, 0, 4);
  inside<<<w, w>>>(d, w, corners);
  cudaMemcpy(&got, d, 4, cudaMemcpyDeviceToHost);
  for (int y = 0; y < w; ++y)
    for (int x = 0; x < w; ++x) {
      bool is_in = false;
      for (int i = 0, j = corners - 1; i < corners; j = i++)
        if ((h[i].y > y) != (h[j].y > y)) {
          long side = 1L * (h[j].x - h[i].x) * (y - h[i].y) - 1L * (x - h[i].x) * (h[j].y - h[i].y);
          is_in ^= (h[j].y > h[i].y) == (side > 0);
        }
      want += is_in;
    }
  printf("inside %d %s\n", got, got == want ? "right" : "WRONG");
}
