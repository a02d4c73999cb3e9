// domain: streams
// hazards: default-stream
// expect: value 47 legacy 94
// The default stream waits for the other streams and they for it; a stream that does not block
// is waited for by an event.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void add(int* p, int v) { *p += v; }
__global__ void times(int* p, int v) { *p *= v; }

int main() {
  int *p, value = 0, later = 0;
  cudaMalloc(&p, sizeof(int));
  cudaMemset(p, 0, sizeof(int));
  cudaStream_t blocking, apart;
  cudaStreamCreate(&blocking);
  cudaStreamCreateWithFlags(&apart, cudaStreamNonBlocking);
  add<<<1, 1, 0, blocking>>>(p, 5);
  times<<<1, 1>>>(p, 9);
  add<<<1, 1, 0, blocking>>>(p, 2);
  cudaMemcpy(&value, p, sizeof(int), cudaMemcpyDeviceToHost);
  cudaEvent_t done;
  cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
  times<<<1, 1, 0, apart>>>(p, 2);
  cudaEventRecord(done, apart);
  cudaStreamWaitEvent(cudaStreamLegacy, done, 0);
  cudaMemcpyAsync(&later, p, sizeof(int), cudaMemcpyDeviceToHost, cudaStreamLegacy);
  cudaStreamSynchronize(cudaStreamLegacy);
  printf("value %d legacy %d\n", value, later);
  cudaStreamDestroy(blocking);
  cudaStreamDestroy(apart);
  cudaFree(p);
}
