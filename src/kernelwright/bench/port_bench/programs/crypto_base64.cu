// domain: crypto
// hazards: constant
// expect: d2F2ZXMgb2YgdGhpcnR5LXR3byBsYW5lcywgb3Igb2Ygc2l4dHktZm91cg==
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>


// Three bytes become four letters, by a table in constant memory.
__constant__ char letters[65] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
__global__ void encode(const unsigned char* in, char* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (3 * i >= n) return;
  unsigned b = in[3 * i] << 16 | (3 * i + 1 < n ? in[3 * i + 1] << 8 : 0) | (3 * i + 2 < n ? in[3 * i + 2] : 0);
  char4 c = make_char4(letters[b >> 18], letters[b >> 12 & 63], letters[b >> 6 & 63], letters[b & 63]);
  if (3 * i + 1 >= n) c.z = '=';
  if (3 * i + 2 >= n) c.w = '=';
  reinterpret_cast<char4*>(out)[i] = c;
}

int main() {
  const char text[] = "waves of thirty-two lanes, or of sixty-four";
  const int n = sizeof text - 1, groups = (n + 2) / 3;
  unsigned char* in;
  char *out, got[4 * groups + 1];
  cudaMalloc(&in, n), cudaMalloc(&out, 4 * groups);
  cudaMemcpy(in, text, n, cudaMemcpyHostToDevice);
  encode<<<1, 32>>>(in, out, n);
  cudaMemcpy(got, out, 4 * groups, cudaMemcpyDeviceToHost);
  got[4 * groups] = 0;
  printf("%s\n", got);
}
