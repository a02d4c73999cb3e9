// domain: physics
// hazards: none
// expect: bodies 150 wrong 0
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

__global__ void forces(const float4* body, float3* out, int n) {
  __shared__ float4 tile[64];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float4 me = i < n ? body[i] : make_float4(0, 0, 0, 0);
  float3 f = make_float3(0, 0, 0);
  for (int t = 0; t < n; t += 64) {
    tile[threadIdx.x] = t + threadIdx.x < n ? body[t + threadIdx.x] : make_float4(0, 0, 0, 0);
    __syncthreads();
    for (int j = 0; j < 64; ++j) {
      float dx = tile[j].x - me.x, dy = tile[j].y - me.y, dz = tile[j].z - me.z;
      float r2 = dx * dx + dy * dy + dz * dz + 0.01f, r = rsqrtf(r2), s = tile[j].w * r * r * r;
      f.x += dx * s, f.y += dy * s, f.z += dz * s;
    }
    __syncthreads();
  }
  if (i < n) out[i] = f;
}

int main() {
  const int n = 150;
  std::vector<float4> body(n);
  for (int i = 0; i < n; ++i) body[i] = make_float4(i % 7, i % 11, i % 13, 1 + i % 3);
  std::vector<float3> got(n);
  float4* db;
  float3* df;
  cudaMalloc(&db, n * sizeof(float4)), cudaMalloc(&df, n * sizeof(float3));
  cudaMemcpy(db, body.data(), n * sizeof(float4), cudaMemcpyHostToDevice);
  forces<<<(n + 63) / 64, 64>>>(db, df, n);
  cudaMemcpy(got.data(), df, n * sizeof(float3), cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < n; ++i) {
    double f = 0, size = 1e-3;
    for (int j = 0; j < n; ++j) {
      double dx = body[j].x - body[i].x, dy = body[j].y - body[i].y, dz = body[j].z - body[i].z;
      double r2 = dx * dx + dy * dy + dz * dz + 0.01;
      f += dx * body[j].w / (r2 * sqrt(r2)), size += fabs(dx * body[j].w / (r2 * sqrt(r2)));
    }
    wrong += fabs(f - got[i].x) > 1e-4 * size;
  }
  printf("bodies %d wrong %d\n", n, wrong);
}
