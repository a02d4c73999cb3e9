// bfloat16: the upper half of a float, rounded to even. SIMT_BF16 and SIMT_BF162 are the types' names.
// Not covered: arithmetic intrinsics other than those below.
#pragma once

struct SIMT_BF16 {
  unsigned short bits;
  SIMT_BF16() = default;
  __host__ __device__ SIMT_BF16(float v) {
    unsigned raw;
    __builtin_memcpy(&raw, &v, 4);
    if (v == v) raw += 0x7fffu + (raw >> 16 & 1u);
    bits = static_cast<unsigned short>(v == v ? raw >> 16 : raw >> 16 | 0x40u);
  }
  __host__ __device__ operator float() const {
    const unsigned raw = static_cast<unsigned>(bits) << 16;
    float v;
    __builtin_memcpy(&v, &raw, 4);
    return v;
  }
};
struct alignas(4) SIMT_BF162 {
  SIMT_BF16 x, y;
};
__host__ __device__ inline SIMT_BF16 __float2bfloat16(float v) { return v; }
__host__ __device__ inline SIMT_BF16 __float2bfloat16_rn(float v) { return v; }
__host__ __device__ inline SIMT_BF16 __double2bfloat16(double v) { return static_cast<float>(v); }
__host__ __device__ inline float __bfloat162float(SIMT_BF16 v) { return v; }
__host__ __device__ inline SIMT_BF162 __floats2bfloat162_rn(float a, float b) { return {a, b}; }
__host__ __device__ inline SIMT_BF162 __float2bfloat162_rn(float a) { return {a, a}; }
__host__ __device__ inline SIMT_BF162 __halves2bfloat162(SIMT_BF16 a, SIMT_BF16 b) { return {a, b}; }
__host__ __device__ inline SIMT_BF16 __low2bfloat16(SIMT_BF162 v) { return v.x; }
__host__ __device__ inline SIMT_BF16 __high2bfloat16(SIMT_BF162 v) { return v.y; }
__host__ __device__ inline float2 __bfloat1622float2(SIMT_BF162 v) { return make_float2(v.x, v.y); }
__host__ __device__ inline unsigned short __bfloat16_as_ushort(SIMT_BF16 v) { return v.bits; }
__host__ __device__ inline SIMT_BF16 __hadd(SIMT_BF16 a, SIMT_BF16 b) { return float(a) + float(b); }
__host__ __device__ inline SIMT_BF16 __hsub(SIMT_BF16 a, SIMT_BF16 b) { return float(a) - float(b); }
__host__ __device__ inline SIMT_BF16 __hmul(SIMT_BF16 a, SIMT_BF16 b) { return float(a) * float(b); }
__host__ __device__ inline SIMT_BF16 __hdiv(SIMT_BF16 a, SIMT_BF16 b) { return float(a) / float(b); }
__host__ __device__ inline bool __hlt(SIMT_BF16 a, SIMT_BF16 b) { return float(a) < float(b); }
__host__ __device__ inline bool __hgt(SIMT_BF16 a, SIMT_BF16 b) { return float(a) > float(b); }
