// domain: libraries
// hazards: hard-coded-32
// expect: total 8128 last 8128 warps 4 wrong 0
#include <cstdio>

#include <cub/cub.cuh>
#include <cuda_runtime.h>

__global__ void both(const int* in, int* scanned, int* total, int* per_warp) {
  using Reduce = cub::BlockReduce<int, 128>;
  using Scan = cub::BlockScan<int, 128>;
  using Warp = cub::WarpReduce<int>;
  __shared__ typename Reduce::TempStorage reduce_room;
  __shared__ typename Scan::TempStorage scan_room;
  __shared__ typename Warp::TempStorage warp_room[4];
  const int value = in[threadIdx.x];
  int before;
  Scan(scan_room).InclusiveSum(value, before);
  scanned[threadIdx.x] = before;
  const int sum = Reduce(reduce_room).Sum(value);
  if (threadIdx.x == 0) *total = sum;
  const int warp = threadIdx.x / 32;
  const int own = Warp(warp_room[warp]).Sum(value);
  if (threadIdx.x % 32 == 0) per_warp[warp] = own;
}

int main() {
  int h[128], scanned[128], total, warps[4], *in, *out, *sum, *w;
  for (int i = 0; i < 128; ++i) h[i] = i;
  cudaMalloc(&in, sizeof h), cudaMalloc(&out, sizeof h), cudaMalloc(&sum, 4), cudaMalloc(&w, 16);
  cudaMemcpy(in, h, sizeof h, cudaMemcpyHostToDevice);
  both<<<1, 128>>>(in, out, sum, w);
  cudaMemcpy(scanned, out, sizeof h, cudaMemcpyDeviceToHost);
  cudaMemcpy(&total, sum, 4, cudaMemcpyDeviceToHost);
  cudaMemcpy(warps, w, 16, cudaMemcpyDeviceToHost);
  int wrong = 0, right = 0;
  for (int i = 0; i < 128; ++i) wrong += scanned[i] != i * (i + 1) / 2;
  for (int i = 0; i < 4; ++i) right += warps[i] == 32 * (32 * i) + 496;
  printf("total %d last %d warps %d wrong %d\n", total, scanned[127], right, wrong);
}
