#include <cstdio>
#include <cub/cub.cuh>
struct Even { __host__ __device__ bool operator()(int x) const { return x % 2 == 0; } };
struct Square { __host__ __device__ int operator()(int x) const { return x * x; } };
__global__ void blocks(const int* in, int* out) {
  using Sort = cub::BlockRadixSort<int, 64, 2>;
  using Scan = cub::BlockScan<int, 64>;
  __shared__ typename Sort::TempStorage sort;
  __shared__ typename Scan::TempStorage scan;
  int keys[2] = {in[threadIdx.x * 2], in[threadIdx.x * 2 + 1]}, most;
  Sort(sort).Sort(keys);
  Scan(scan).InclusiveScan(keys[0] % 7, most, cub::Max());
  out[threadIdx.x * 2] = keys[0];
  out[threadIdx.x * 2 + 1] = keys[1] + 1000 * most;
}
__global__ void scans(const int* in, int* out) {
  using Scan = cub::BlockScan<int, 64>;
  __shared__ typename Scan::TempStorage scan;
  int values[2] = {in[threadIdx.x * 2], in[threadIdx.x * 2 + 1]}, upto[2], before[2], all;
  Scan(scan).InclusiveScan(values, upto, cub::Min());
  __syncthreads();
  Scan(scan).ExclusiveScan(values, before, 7, cub::Max(), all);
  for (int i = 0; i < 2; ++i) out[threadIdx.x * 2 + i] = upto[i] + 1000 * before[i] + 1000000 * all;
}
template <typename F> void with_room(F f) {
  void* room = nullptr;
  size_t bytes = 0;
  f(room, bytes);
  cudaMalloc(&room, bytes);
  f(room, bytes);
  cudaFree(room);
}
int main() {
  const int n = 128;
  int h[n], *in, *out, *flags, *count;
  for (int i = 0; i < n; ++i) h[i] = (i * 37 + 11) % 101;
  cudaMalloc(&in, sizeof h), cudaMalloc(&out, sizeof h), cudaMalloc(&flags, sizeof h), cudaMalloc(&count, 4);
  cudaMemcpy(in, h, sizeof h, cudaMemcpyHostToDevice);
  blocks<<<1, 64>>>(in, out);
  cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost);
  printf("%d %d %d\n", h[0], h[64], h[127]);
  auto show = [&](const char* what, int k) {
    int m = 0;
    cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost);
    cudaMemcpy(&m, count, 4, cudaMemcpyDeviceToHost);
    printf("%s %d %d %d\n", what, h[0], h[k], m);
  };
  with_room([&](void* r, size_t& b) { cub::DeviceSelect::If(r, b, in, out, count, n, Even()); });
  show("select", 9);
  scans<<<1, 64>>>(in, out);
  show("scans", 3);
  with_room([&](void* r, size_t& b) { cub::DeviceRunLengthEncode::Encode(r, b, in, out, flags, count, n); });
  show("runs", 5);
  with_room([&](void* r, size_t& b) { cub::DeviceScan::ExclusiveScan(r, b, in, out, cub::Max(), 3, n); });
  show("scan", 20);
  cub::TransformInputIterator<int, Square, int*> squares(in, Square());
  with_room([&](void* r, size_t& b) { cub::DeviceReduce::Sum(r, b, squares, out, n); });
  show("squares", 0);
  with_room([&](void* r, size_t& b) { cub::DeviceHistogram::HistogramEven(r, b, in, out, 5, 0, 100, n); });
  show("histogram", 3);
  with_room([&](void* r, size_t& b) { cub::DeviceRadixSort::SortKeysDescending(r, b, in, out, n); });
  show("sorted", 127);
}
