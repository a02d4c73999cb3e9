// domain: cuda-graphs
// hazards: none
// expect: value 63
#include <cstdio>
#include <cstdlib>

#include <cuda_runtime.h>

#define CHECK(call)                                                        \
  do {                                                                     \
    cudaError_t error = (call);                                            \
    if (error != cudaSuccess) {                                            \
      printf("%s: %s\n", #call, cudaGetErrorString(error));                \
      exit(1);                                                             \
    }                                                                      \
  } while (0)

__global__ void twice(int* a) { a[threadIdx.x] = a[threadIdx.x] * 2 + 1; }

int main() {
  int *d, h[32];
  cudaMalloc(&d, 128), cudaMemset(d, 0, 128);
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  for (int i = 0; i < 3; ++i) twice<<<1, 32, 0, stream>>>(d);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&exec, graph, NULL, NULL, 0));
  for (int i = 0; i < 2; ++i) CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamSynchronize(stream));
  cudaMemcpy(h, d, 128, cudaMemcpyDeviceToHost);
  printf("value %d\n", h[5]);
  CHECK(cudaGraphExecDestroy(exec)); CHECK(cudaGraphDestroy(graph));
}
