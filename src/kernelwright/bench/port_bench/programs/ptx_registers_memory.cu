// domain: ptx
// hazards: inline-ptx shuffle-mask
// expect: sum 528 bits 3f800000 packed 0000000700000005 votes 0f picked 31 copied 1.5 2.5 3.5 4.5
#include <cstdio>

#include <cuda_runtime.h>

__global__ void pieces(const int* in, const float4* vectors, float4* copied, int* sum,
                       unsigned* bits, unsigned long long* packed, unsigned* votes, int* picked) {
  int value = in[threadIdx.x], other;
  for (int step = 16; step > 0; step >>= 1) {
    asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(other) : "r"(value), "r"(step));
    value += other;
  }
  unsigned ballot;
  asm("{ .reg .pred p; setp.lt.u32 p, %1, 4; vote.sync.ballot.b32 %0, p, 0xffffffff; }"
      : "=r"(ballot) : "r"(threadIdx.x & 31));
  int largest;
  asm("{\n\t.reg .pred p;\n\tsetp.gt.s32 p, %1, %2;\n\tselp.s32 %0, %1, %2, p;\n\t}"
      : "=r"(largest) : "r"((int)(threadIdx.x & 31)), "r"(7));
  if (threadIdx.x != 31) return;
  unsigned one;
  unsigned long long pair;
  asm("mov.b32 %0, %1;" : "=r"(one) : "f"(1.0f));
  asm("mov.b64 %0, {%1, %2};" : "=l"(pair) : "r"(5u), "r"(7u));
  float x, y, z, w;
  asm volatile("ld.global.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(x), "=f"(y), "=f"(z), "=f"(w) : "l"(vectors));
  asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};" : : "l"(copied), "f"(x), "f"(y), "f"(z), "f"(w) : "memory");
  asm volatile("st.global.u32 [%0], %1;" : : "l"(bits), "r"(one) : "memory");
  asm volatile("st.global.u64 [%0], %1;" : : "l"(packed), "l"(pair) : "memory");
  asm volatile("red.global.add.s32 [%0], %1;" : : "l"(sum), "r"(value) : "memory");
  *votes = ballot, *picked = largest;
}

int main() {
  int h[32];
  for (int i = 0; i < 32; ++i) h[i] = i + 1;
  const float4 from = {1.5f, 2.5f, 3.5f, 4.5f};
  float4 to;
  int *in, *sum, *picked, total, most;
  float4 *v, *c;
  unsigned *bits, *votes, b, seen;
  unsigned long long *packed, p;
  cudaMalloc(&in, sizeof h), cudaMalloc(&sum, 4), cudaMalloc(&picked, 4), cudaMalloc(&v, 16), cudaMalloc(&c, 16);
  cudaMalloc(&bits, 4), cudaMalloc(&votes, 4), cudaMalloc(&packed, 8);
  cudaMemset(sum, 0, 4);
  cudaMemcpy(in, h, sizeof h, cudaMemcpyHostToDevice), cudaMemcpy(v, &from, 16, cudaMemcpyHostToDevice);
  pieces<<<1, 32>>>(in, v, c, sum, bits, packed, votes, picked);
  cudaMemcpy(&total, sum, 4, cudaMemcpyDeviceToHost), cudaMemcpy(&b, bits, 4, cudaMemcpyDeviceToHost);
  cudaMemcpy(&p, packed, 8, cudaMemcpyDeviceToHost), cudaMemcpy(&seen, votes, 4, cudaMemcpyDeviceToHost);
  cudaMemcpy(&most, picked, 4, cudaMemcpyDeviceToHost), cudaMemcpy(&to, c, 16, cudaMemcpyDeviceToHost);
  printf("sum %d bits %08x packed %016llx votes %02x picked %d copied %.1f %.1f %.1f %.1f\n", total, b, p, seen, most, to.x, to.y, to.z, to.w);
}
