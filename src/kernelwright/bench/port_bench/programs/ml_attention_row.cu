// domain: machine-learning
// hazards: shuffle-mask
// expect: sum 158.74 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>


// Attention of one query a warp: a softmax that is kept up while keys stream by.
__global__ void attend(const float* q, const float* k, const float* v, float* out, int keys, int dim) {
  int query = blockIdx.x, lane = threadIdx.x;
  float most = -1e30f, total = 0, kept = 0;
  for (int key = 0; key < keys; ++key) {
    float dot = lane < dim ? q[query * dim + lane] * k[key * dim + lane] : 0.0f;
    for (int o = 16; o > 0; o >>= 1) dot += __shfl_xor_sync(~0u, dot, o);
    float high = fmaxf(most, dot), old = expf(most - high), now = expf(dot - high);
    total = total * old + now;
    kept = kept * old + now * (lane < dim ? v[key * dim + lane] : 0.0f);
    most = high;
  }
  if (lane < dim) out[query * dim + lane] = kept / total;
}

int main() {
  const int queries = 6, keys = 20, dim = 24;
  std::vector<float> q(queries * dim), k(keys * dim), v(keys * dim), got(queries * dim);
  for (int i = 0; i < queries * dim; ++i) q[i] = (i * 13 % 29 - 14) * 0.05f;
  for (int i = 0; i < keys * dim; ++i) k[i] = (i * 17 % 31 - 15) * 0.05f, v[i] = i * 11 % 23 * 0.1f;
  float *a, *b, *c, *d;
  cudaMalloc(&a, q.size() * 4), cudaMalloc(&b, k.size() * 4), cudaMalloc(&c, v.size() * 4), cudaMalloc(&d, q.size() * 4);
  cudaMemcpy(a, q.data(), q.size() * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(b, k.data(), k.size() * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(c, v.data(), v.size() * 4, cudaMemcpyHostToDevice);
  attend<<<queries, 32>>>(a, b, c, d, keys, dim);
  cudaMemcpy(got.data(), d, q.size() * 4, cudaMemcpyDeviceToHost);
  bool right = true;
  double all = 0;
  for (int i = 0; i < queries; ++i) {
    std::vector<double> weight(keys);
    double total = 0;
    for (int j = 0; j < keys; ++j) {
      double dot = 0;
      for (int t = 0; t < dim; ++t) dot += q[i * dim + t] * k[j * dim + t];
      total += weight[j] = exp(dot);
    }
    for (int t = 0; t < dim; ++t) {
      double want = 0;
      for (int j = 0; j < keys; ++j) want += weight[j] / total * v[j * dim + t];
      double off = got[i * dim + t] - want;
      right &= off < 1e-4 && off > -1e-4, all += got[i * dim + t];
    }
  }
  printf("sum %.2f %s\n", all, right ? "right" : "WRONG");
}
