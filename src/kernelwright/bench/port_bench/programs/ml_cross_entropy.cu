// domain: machine-learning
// hazards: none
// expect: loss 50.676 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>


// Cross entropy of rows: the largest value, then a sum of exponentials, by a block's tree.
__global__ void loss(const float* logit, const int* label, float* out, int n) {
  __shared__ float s[128];
  int i = threadIdx.x;
  const float* row = logit + blockIdx.x * n;
  float most = -1e30f, sum = 0;
  for (int j = i; j < n; j += 128) most = fmaxf(most, row[j]);
  s[i] = most;
  __syncthreads();
  for (int o = 64; o > 0; o /= 2) {
    if (i < o) s[i] = fmaxf(s[i], s[i + o]);
    __syncthreads();
  }
  most = s[0];
  __syncthreads();
  for (int j = i; j < n; j += 128) sum += expf(row[j] - most);
  s[i] = sum;
  __syncthreads();
  for (int o = 64; o > 0; o /= 2) {
    if (i < o) s[i] += s[i + o];
    __syncthreads();
  }
  if (i == 0) out[blockIdx.x] = logf(s[0]) + most - row[label[blockIdx.x]];
}

int main() {
  const int rows = 5, n = 300;
  std::vector<float> h(rows * n);
  for (int i = 0; i < rows * n; ++i) h[i] = i * 53 % 97 * 0.1f;
  int label[rows] = {3, 99, 150, 200, 299}, *l;
  float *d, *o, got[rows];
  cudaMalloc(&d, h.size() * 4), cudaMalloc(&l, sizeof label), cudaMalloc(&o, sizeof got);
  cudaMemcpy(d, h.data(), h.size() * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(l, label, sizeof label, cudaMemcpyHostToDevice);
  loss<<<rows, 128>>>(d, l, o, n);
  cudaMemcpy(got, o, sizeof got, cudaMemcpyDeviceToHost);
  bool right = true;
  double all = 0;
  for (int r = 0; r < rows; ++r) {
    double sum = 0;
    for (int j = 0; j < n; ++j) sum += exp(h[r * n + j]);
    double off = got[r] - (log(sum) - h[r * n + label[r]]);
    right &= off < 1e-3 && off > -1e-3, all += got[r];
  }
  printf("loss %.3f %s\n", all, right ? "right" : "WRONG");
}
