#include <cstdio>
#include <cufft.h>
int main() {
  const int n = 12;
  cufftComplex z[2 * n], *d;
  for (int i = 0; i < 2 * n; ++i) z[i] = make_cuComplex(i % 5, i % 3);
  cudaMalloc(&d, sizeof z);
  cudaMemcpy(d, z, sizeof z, cudaMemcpyHostToDevice);
  cufftHandle plan;
  cufftPlan1d(&plan, n, CUFFT_C2C, 2);
  cufftExecC2C(plan, d, d, CUFFT_FORWARD);
  cudaMemcpy(z, d, sizeof z, cudaMemcpyDeviceToHost);
  printf("%.3f %.3f %.3f\n", z[0].x, z[1].x, z[n + 5].y);
  cufftDestroy(plan);
  const int w = 4, h = 3;
  cufftReal r[w * h], *in;
  for (int i = 0; i < w * h; ++i) r[i] = i * i % 7;
  cufftComplex* half;
  cudaMalloc(&in, sizeof r), cudaMalloc(&half, sizeof(cufftComplex) * h * (w / 2 + 1));
  cudaMemcpy(in, r, sizeof r, cudaMemcpyHostToDevice);
  cufftHandle there, back;
  cufftPlan2d(&there, h, w, CUFFT_R2C), cufftPlan2d(&back, h, w, CUFFT_C2R);
  cufftExecR2C(there, in, half);
  cudaMemcpy(z, half, sizeof(cufftComplex) * h * (w / 2 + 1), cudaMemcpyDeviceToHost);
  cufftExecC2R(back, half, in);
  cudaMemcpy(r, in, sizeof r, cudaMemcpyDeviceToHost);
  printf("%.3f %.3f %.3f %.3f %.3f\n", z[0].x, z[4].x, z[4].y, r[5] / 12, r[11] / 12);
}
