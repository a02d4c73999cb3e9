// domain: cuda-graphs
// hazards: none
// expect: third 150 last 195
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call)                                                        \
  do {                                                                     \
    cudaError_t error = (call);                                            \
    if (error != cudaSuccess) {                                            \
      printf("%s: %s\n", #call, cudaGetErrorString(error));                \
      exit(1);                                                             \
    }                                                                      \
  } while (0)

__global__ void bump(const int* a, int* b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) b[i] = a[i] + 100;
}

int main() {
  const int n = 96;
  std::vector<int> h(n), got(n);
  for (int i = 0; i < n; ++i) h[i] = i;
  int *a, *b;
  cudaMalloc(&a, n * 4), cudaMalloc(&b, n * 4);
  cudaStream_t s;
  cudaStreamCreate(&s);
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal);
  cudaMemcpyAsync(a, h.data(), n * 4, cudaMemcpyHostToDevice, s);
  bump<<<3, 32, 0, s>>>(a, b, n);
  cudaMemcpyAsync(got.data(), b, n * 4, cudaMemcpyDeviceToHost, s);
  cudaStreamEndCapture(s, &graph);
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  h[3] = 50;
  CHECK(cudaGraphLaunch(exec, s));
  cudaStreamSynchronize(s);
  printf("third %d last %d\n", got[3], got[n - 1]);
}
