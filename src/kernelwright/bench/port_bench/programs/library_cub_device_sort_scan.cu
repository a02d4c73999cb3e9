// domain: libraries
// hazards: none
// expect: sorted yes pairs kept yes sum 499500 offsets end 498501
#include <cstdio>
#include <vector>

#include <cub/cub.cuh>
#include <cuda_runtime.h>

int main() {
  const int n = 1000;
  std::vector<int> keys(n), values(n), sorted(n), moved(n), offsets(n);
  for (int i = 0; i < n; ++i) keys[i] = (i * 7919 + 13) % n, values[i] = keys[i] * 3;
  int *k, *v, *sk, *sv, *sum;
  cudaMalloc(&k, n * 4), cudaMalloc(&v, n * 4), cudaMalloc(&sk, n * 4), cudaMalloc(&sv, n * 4), cudaMalloc(&sum, 4);
  cudaMemcpy(k, keys.data(), n * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(v, values.data(), n * 4, cudaMemcpyHostToDevice);
  void* room = nullptr;
  size_t bytes = 0;
  cub::DeviceRadixSort::SortPairs(room, bytes, k, sk, v, sv, n);
  cudaMalloc(&room, bytes);
  cub::DeviceRadixSort::SortPairs(room, bytes, k, sk, v, sv, n);
  cudaMemcpy(sorted.data(), sk, n * 4, cudaMemcpyDeviceToHost);
  cudaMemcpy(moved.data(), sv, n * 4, cudaMemcpyDeviceToHost);
  cudaFree(room), room = nullptr;
  cub::DeviceReduce::Sum(room, bytes, k, sum, n);
  cudaMalloc(&room, bytes);
  cub::DeviceReduce::Sum(room, bytes, k, sum, n);
  cudaFree(room), room = nullptr;
  cub::DeviceScan::ExclusiveSum(room, bytes, sk, v, n);
  cudaMalloc(&room, bytes);
  cub::DeviceScan::ExclusiveSum(room, bytes, sk, v, n);
  int total;
  cudaMemcpy(&total, sum, 4, cudaMemcpyDeviceToHost);
  cudaMemcpy(offsets.data(), v, n * 4, cudaMemcpyDeviceToHost);
  bool in_order = true, kept = true;
  for (int i = 0; i < n; ++i) in_order = in_order && sorted[i] == i, kept = kept && moved[i] == 3 * sorted[i];
  printf("sorted %s pairs kept %s sum %d offsets end %d\n", in_order ? "yes" : "no", kept ? "yes" : "no", total, offsets[n - 1]);
}
