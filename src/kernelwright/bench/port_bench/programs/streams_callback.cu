// domain: streams
// hazards: none
// expect: called 7 value 9
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

static int called = 0;
static void note(void* data) { called += *(int*)data; }
__global__ void fill(int* a, int v) { a[blockIdx.x * blockDim.x + threadIdx.x] = v; }

int main() {
  cudaStream_t stream;
  int value = 7, *d, h[64];
  cudaStreamCreate(&stream);
  cudaMallocAsync(&d, 256, stream);
  fill<<<2, 32, 0, stream>>>(d, 9);
  CHECK(cudaLaunchHostFunc(stream, note, &value));
  cudaMemcpyAsync(h, d, 256, cudaMemcpyDeviceToHost, stream);
  cudaFreeAsync(d, stream);
  CHECK(cudaStreamSynchronize(stream));
  printf("called %d value %d\n", called, h[63]);
}
