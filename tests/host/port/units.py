"""Projects with device code in several units."""

SEPARATE = {
    "a.cu": """#include <cstdio>
#include "shared.h"
extern __device__ float scaled(float x);
extern __constant__ float factor;
extern __device__ int calls;
void set(float f);
__device__ float own(float x) { return x + 1; }
__global__ void k(float* x) { x[threadIdx.x] = own(scaled(x[threadIdx.x])) * factor; }
int main() {
  float h[4] = {1, 2, 3, 4}, *d;
  int n = 0;
  set(2.0f);
  cudaMalloc(&d, sizeof h);
  cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
  k<<<1, 4>>>(d);
  cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
  cudaMemcpyFromSymbol(&n, calls, sizeof n);
  printf("%g %g %d\\n", h[0], h[3], n);
}
""",
    "b.cu": """#include <cuda_runtime.h>
#include "shared.h"
__constant__ float factor;
__device__ int calls;
__device__ float scaled(float x) {
  atomicAdd(&calls, 1);
  return x * 10 + table[0];
}
void set(float f) {
  cudaMemcpyToSymbol(factor, &f, sizeof f);
}
""",
    "shared.h": """#pragma once
static __device__ float table[2] = {0.5f, 1.0f};
""",
}
"""A kernel that calls a function and reads variables of another unit (``-rdc=true``)."""
OF_EACH = {
    "a.cu": """#include <cstdio>
#include "t.h"
static __device__ float f(float x) { return x + limits[0]; }
__constant__ int c = 3;
int other();
__global__ void k(float* x) { *x = f(c); }
int main() {
  float h, *d;
  cudaMalloc(&d, 4);
  k<<<1, 1>>>(d);
  cudaMemcpy(&h, d, 4, cudaMemcpyDeviceToHost);
  printf("%g %d\\n", h, other());
}
""",
    "b.cu": """#include "t.h"
static __device__ float f(float x) { return x * limits[1]; }
__constant__ int c = 5;
__global__ void k2(float* x) { *x = f(c); }
int other() {
  float h, *d;
  cudaMalloc(&d, 4);
  k2<<<1, 1>>>(d);
  cudaMemcpy(&h, d, 4, cudaMemcpyDeviceToHost);
  return h;
}
""",
    "t.h": """#include <cuda_runtime.h>
__device__ float limits[2] = {1, 2};
""",
}
"""Device variables that two units call alike, each meaning its own."""
