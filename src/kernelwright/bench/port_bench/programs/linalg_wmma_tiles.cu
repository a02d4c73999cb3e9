// domain: linear-algebra
// hazards: wmma
// expect: 64x64 trace -24 checksum -5746 bytes 7
// Products on tensor cores: a tile of 16x16 a warp, two tiles a block, and one of signed bytes.
#include <mma.h>
#include <cuda_fp16.h>
#include <cstdio>
using namespace nvcuda;

__global__ void products(const half* a, const half* b, float* c, int n, float alpha) {
  const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  const int row = warp / (n / 16) * 16, column = warp % (n / 16) * 16;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> right;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 0.0f);
  for (int k = 0; k < n; k += 16) {
    wmma::load_matrix_sync(left, a + row * n + k, n);
    wmma::load_matrix_sync(right, b + column * n + k, n);
    wmma::mma_sync(sum, left, right, sum);
  }
  for (int i = 0; i < sum.num_elements; ++i) sum.x[i] *= alpha;
  wmma::store_matrix_sync(c + row * n + column, sum, n, wmma::mem_row_major);
}

__global__ void bytes(const signed char* a, const signed char* b, int* c) {
  nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 32, 8, 16, signed char, nvcuda::wmma::col_major> left;
  nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, 32, 8, 16, signed char, nvcuda::wmma::row_major> right;
  nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 32, 8, 16, int> sum;
  nvcuda::wmma::fill_fragment(sum, 0);
  nvcuda::wmma::load_matrix_sync(left, a, 32);
  nvcuda::wmma::load_matrix_sync(right, b, 8);
  nvcuda::wmma::mma_sync(sum, left, right, sum);
  nvcuda::wmma::store_matrix_sync(c, sum, 8, nvcuda::wmma::mem_row_major);
}

int main() {
  const int n = 64;
  half *a, *b;
  float* c;
  cudaMallocManaged(&a, n * n * sizeof(half));
  cudaMallocManaged(&b, n * n * sizeof(half));
  cudaMallocManaged(&c, n * n * sizeof(float));
  for (int i = 0; i < n * n; ++i) {
    a[i] = __float2half(static_cast<float>(i % 7 - 3));
    b[i] = __float2half(static_cast<float>(i / n % 5 + i % 3));  // b by columns
  }
  products<<<8, 64>>>(a, b, c, n, 2.0f);
  signed char *p, *q;
  int* r;
  cudaMallocManaged(&p, 32 * 16);
  cudaMallocManaged(&q, 16 * 8);
  cudaMallocManaged(&r, 32 * 8 * sizeof(int));
  for (int i = 0; i < 32 * 16; ++i) p[i] = static_cast<signed char>(i % 5 - 2);
  for (int i = 0; i < 16 * 8; ++i) q[i] = static_cast<signed char>(i % 3 - 1);
  bytes<<<1, 32>>>(p, q, r);
  cudaDeviceSynchronize();
  float trace = 0, checksum = 0;
  int sum = 0;
  for (int i = 0; i < n; ++i) trace += c[i * n + i];
  for (int i = 0; i < n * n; ++i) checksum += c[i] * static_cast<float>(i % 11);
  for (int i = 0; i < 32 * 8; ++i) sum += r[i] * (i % 13);
  printf("%dx%d trace %.0f checksum %.0f bytes %d\n", n, n, trace, checksum, sum);
}
