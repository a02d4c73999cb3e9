// domain: image
// hazards: none
// expect: bin0 158 bin255 0 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

__global__ void histogram(const unsigned char* in, int n, unsigned* bins) {
  __shared__ unsigned local[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) local[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) atomicAdd(&local[in[i]], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&bins[i], local[i]);
}

int main() {
  const int n = 5000;
  std::vector<unsigned char> in(n);
  std::vector<unsigned> want(256, 0), got(256);
  for (int i = 0; i < n; ++i) in[i] = (unsigned char)(i * i / 3), ++want[in[i]];
  unsigned char* di;
  unsigned* db;
  cudaMalloc(&di, n), cudaMalloc(&db, 1024);
  cudaMemcpy(di, in.data(), n, cudaMemcpyHostToDevice);
  cudaMemset(db, 0, 1024);
  histogram<<<4, 128>>>(di, n, db);
  cudaMemcpy(got.data(), db, 1024, cudaMemcpyDeviceToHost);
  printf("bin0 %u bin255 %u %s\n", got[0], got[255], got == want ? "right" : "WRONG");
}
