// domain: libraries
// hazards: none
// expect: batches 6 wrong 0 trace 6.0
#include <cmath>
#include <cstdio>
#include <vector>

#include <cublas_v2.h>
#include <cuda_runtime.h>

__global__ void rotations(double* to, int batches) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= batches) return;
  double* m = to + 4 * i;
  m[0] = m[3] = cos(0.25 * i), m[1] = sin(0.25 * i), m[2] = -m[1];
}

// A rotation times its transpose is the identity.
int main() {
  const int batches = 6;
  double *r, *p;
  cudaMalloc(&r, batches * 4 * sizeof(double)), cudaMalloc(&p, batches * 4 * sizeof(double));
  rotations<<<1, 32>>>(r, batches);
  cublasHandle_t handle;
  cublasCreate(&handle);
  const double half = 0.5, zero = 0.0;
  cublasDgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_T, 2, 2, 2, &half, r, 2, 4, r, 2, 4, &zero, p, 2, 4, batches);
  std::vector<double> got(batches * 4);
  cudaMemcpy(got.data(), p, got.size() * sizeof(double), cudaMemcpyDeviceToHost);
  int wrong = 0;
  double trace = 0;
  for (int i = 0; i < batches * 4; ++i) {
    const double want = i % 4 == 0 || i % 4 == 3 ? 0.5 : 0.0;
    wrong += fabs(got[i] - want) > 1e-12;
    if (want > 0) trace += got[i];
  }
  printf("batches %d wrong %d trace %.1f\n", batches, wrong, trace);
  cublasDestroy(handle);
}
