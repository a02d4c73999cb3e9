// domain: streams
// hazards: none
// expect: value 7887 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>


// Two streams that wait for each other's events; copies on the device between kernels.
__global__ void add(int* p, int v, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = p[i] * 3 + v;
}

int main() {
  const int n = 300;
  std::vector<int> h(n, 1), got(n);
  int *a, *b, want = 1;
  cudaMalloc(&a, n * 4), cudaMalloc(&b, n * 4);
  cudaStream_t one, two;
  cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking), cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking);
  cudaEvent_t ready[2];
  cudaEventCreateWithFlags(&ready[0], cudaEventDisableTiming), cudaEventCreateWithFlags(&ready[1], cudaEventDisableTiming);
  cudaMemcpyAsync(a, h.data(), n * 4, cudaMemcpyHostToDevice, one);
  for (int round = 0; round < 4; ++round) {
    add<<<3, 128, 0, one>>>(a, round, n);
    cudaEventRecord(ready[0], one), cudaStreamWaitEvent(two, ready[0], 0);
    cudaMemcpyAsync(b, a, n * 4, cudaMemcpyDeviceToDevice, two);
    add<<<3, 128, 0, two>>>(b, 10 * round, n);
    cudaEventRecord(ready[1], two), cudaStreamWaitEvent(one, ready[1], 0);
    cudaMemcpyAsync(a, b, n * 4, cudaMemcpyDeviceToDevice, one);
    want = (want * 3 + round) * 3 + 10 * round;
  }
  cudaMemcpyAsync(got.data(), a, n * 4, cudaMemcpyDeviceToHost, one);
  cudaStreamSynchronize(one);
  bool right = true;
  for (int v : got) right &= v == want;
  printf("value %d %s\n", got[n / 2], right ? "right" : "WRONG");
}
