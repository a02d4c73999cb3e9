// A read of every kind that a texture or surface has: expected are 3 0.1 1.08632e+09 8.5 7 7.
#include <cstdio>
#include <cuda_runtime.h>
texture<float, 1, cudaReadModeElementType> line;
texture<unsigned char, 2, cudaReadModeNormalizedFloat> plane;
texture<uint4, 1> words;
__global__ void k(float *o, cudaTextureObject_t v, cudaTextureObject_t l, cudaSurfaceObject_t s) {
  o[0] = tex1Dfetch(line, 3);
  o[1] = tex2D(plane, 1.0f, 0.5f);
  o[2] = tex1Dfetch(words, 1).z;
  o[3] = tex3D<float>(v, 1.0f, 1.5f, 1.0f);
  float2 two = tex2DLayered<float2>(l, 1.5f, 0.5f, 1);
  o[4] = two.y;
  surf3Dwrite(7.0f, s, 2 * 4, 1, 1);
  o[5] = surf3Dread<float>(s, 8, 1, 1);
}
int main() {
  float h[64], *a, *o;
  for (int i = 0; i < 64; i++) h[i] = i;
  cudaMalloc(&a, sizeof h); cudaMalloc(&o, sizeof h);
  cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
  cudaBindTexture(0, line, a, sizeof h);
  cudaBindTexture(0, words, a, sizeof h);
  unsigned char bytes[4] = {0, 51, 102, 255};
  cudaArray* ar;
  cudaChannelFormatDesc c = cudaCreateChannelDesc<unsigned char>();
  cudaMallocArray(&ar, &c, 4, 1);
  cudaMemcpyToArray(ar, 0, 0, bytes, 4, cudaMemcpyHostToDevice);
  plane.filterMode = cudaFilterModeLinear; plane.normalized = false;
  cudaBindTextureToArray(plane, ar, c);
  cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();
  cudaArray_t vol;
  cudaMalloc3DArray(&vol, &f, make_cudaExtent(4, 2, 2), cudaArraySurfaceLoadStore);
  cudaMemcpy3DParms p = {0};
  p.srcPtr = make_cudaPitchedPtr(h, 16, 4, 2);
  p.dstArray = vol;
  p.extent = make_cudaExtent(4, 2, 2);
  p.kind = cudaMemcpyHostToDevice;
  cudaMemcpy3D(&p);
  cudaResourceDesc r = {}; r.resType = cudaResourceTypeArray; r.res.array.array = vol;
  cudaTextureDesc how = {}; how.filterMode = cudaFilterModeLinear;
  for (int i = 0; i < 3; ++i) how.addressMode[i] = cudaAddressModeClamp;
  cudaTextureObject_t v, l; cudaSurfaceObject_t s;
  cudaCreateTextureObject(&v, &r, &how, 0);
  cudaCreateSurfaceObject(&s, &r);
  cudaChannelFormatDesc f2 = cudaCreateChannelDesc<float2>();
  cudaArray_t lay;
  cudaMalloc3DArray(&lay, &f2, make_cudaExtent(2, 1, 2), cudaArrayLayered);
  p = {0};
  p.srcPtr = make_cudaPitchedPtr(h, 16, 2, 1);
  p.dstArray = lay;
  p.extent = make_cudaExtent(2, 1, 2);
  p.kind = cudaMemcpyHostToDevice;
  cudaMemcpy3D(&p);
  r.res.array.array = lay;
  cudaCreateTextureObject(&l, &r, &how, 0);
  k<<<1, 1>>>(o, v, l, s);
  cudaMemcpy(h, o, sizeof h, cudaMemcpyDeviceToHost);
  printf("%g %g %g %g %g %g\n", h[0], h[1], h[2], h[3], h[4], h[5]);
  cudaUnbindTexture(line);
}
