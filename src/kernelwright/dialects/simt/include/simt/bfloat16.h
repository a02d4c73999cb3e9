// bfloat16: the upper half of a float, rounded to even. SIMT_BF16 and SIMT_BF162 are the types' names.
// Not covered: arithmetic intrinsics other than those below, masks of comparisons of pairs.
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
__host__ __device__ inline SIMT_BF162 __float22bfloat162_rn(float2 v) { return {v.x, v.y}; }
__host__ __device__ inline SIMT_BF162 __bfloat162bfloat162(SIMT_BF16 v) { return {v, v}; }
__host__ __device__ inline float __low2float(SIMT_BF162 v) { return v.x; }
__host__ __device__ inline float __high2float(SIMT_BF162 v) { return v.y; }
__host__ __device__ inline short __bfloat16_as_short(SIMT_BF16 v) { return static_cast<short>(v.bits); }
__host__ __device__ inline SIMT_BF16 __ushort_as_bfloat16(unsigned short bits) {
  SIMT_BF16 v;
  v.bits = bits;
  return v;
}
__host__ __device__ inline SIMT_BF16 __short_as_bfloat16(short bits) { return __ushort_as_bfloat16(static_cast<unsigned short>(bits)); }
__host__ __device__ inline int __bfloat162int_rn(SIMT_BF16 v) { return static_cast<int>(rintf(v)); }
__host__ __device__ inline int __bfloat162int_rz(SIMT_BF16 v) { return static_cast<int>(float(v)); }
__host__ __device__ inline SIMT_BF16 __int2bfloat16_rn(int v) { return static_cast<float>(v); }
__host__ __device__ inline SIMT_BF16 __hadd(SIMT_BF16 a, SIMT_BF16 b) { return float(a) + float(b); }
__host__ __device__ inline SIMT_BF16 __hsub(SIMT_BF16 a, SIMT_BF16 b) { return float(a) - float(b); }
__host__ __device__ inline SIMT_BF16 __hmul(SIMT_BF16 a, SIMT_BF16 b) { return float(a) * float(b); }
__host__ __device__ inline SIMT_BF16 __hdiv(SIMT_BF16 a, SIMT_BF16 b) { return float(a) / float(b); }
__host__ __device__ inline bool __hlt(SIMT_BF16 a, SIMT_BF16 b) { return float(a) < float(b); }
__host__ __device__ inline bool __hgt(SIMT_BF16 a, SIMT_BF16 b) { return float(a) > float(b); }
__host__ __device__ inline bool __hle(SIMT_BF16 a, SIMT_BF16 b) { return float(a) <= float(b); }
__host__ __device__ inline bool __hge(SIMT_BF16 a, SIMT_BF16 b) { return float(a) >= float(b); }
__host__ __device__ inline bool __heq(SIMT_BF16 a, SIMT_BF16 b) { return float(a) == float(b); }
__host__ __device__ inline bool __hne(SIMT_BF16 a, SIMT_BF16 b) { return float(a) != float(b); }
__host__ __device__ inline bool __hisnan(SIMT_BF16 a) { return float(a) != float(a); }
__host__ __device__ inline SIMT_BF16 __hneg(SIMT_BF16 a) { return -float(a); }
__host__ __device__ inline SIMT_BF16 __habs(SIMT_BF16 a) { return __ushort_as_bfloat16(a.bits & 0x7fff); }
__host__ __device__ inline SIMT_BF16 __hmax(SIMT_BF16 a, SIMT_BF16 b) { return float(a) > float(b) ? a : b; }
__host__ __device__ inline SIMT_BF16 __hmin(SIMT_BF16 a, SIMT_BF16 b) { return float(a) < float(b) ? a : b; }
__host__ __device__ inline SIMT_BF16 __hfma(SIMT_BF16 a, SIMT_BF16 b, SIMT_BF16 c) { return static_cast<float>(static_cast<double>(float(a)) * float(b) + float(c)); }
__host__ __device__ inline SIMT_BF162 __hfma2(SIMT_BF162 a, SIMT_BF162 b, SIMT_BF162 c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; }
#define SIMT_BF16_PAIR(name, one, op)                                                                       \
  __host__ __device__ inline SIMT_BF162 name(SIMT_BF162 a, SIMT_BF162 b) { return {one(a.x, b.x), one(a.y, b.y)}; } \
  __host__ __device__ inline SIMT_BF162 operator op(SIMT_BF162 a, SIMT_BF162 b) { return name(a, b); }             \
  __host__ __device__ inline SIMT_BF162& operator op##=(SIMT_BF162& a, SIMT_BF162 b) { return a = name(a, b); }    \
  __host__ __device__ inline SIMT_BF16& operator op##=(SIMT_BF16& a, SIMT_BF16 b) { return a = one(a, b); }
SIMT_BF16_PAIR(__hadd2, __hadd, +)
SIMT_BF16_PAIR(__hsub2, __hsub, -)
SIMT_BF16_PAIR(__hmul2, __hmul, *)
SIMT_BF16_PAIR(__h2div, __hdiv, /)
#undef SIMT_BF16_PAIR
__host__ __device__ inline SIMT_BF162 __hmax2(SIMT_BF162 a, SIMT_BF162 b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; }
__host__ __device__ inline SIMT_BF162 __hmin2(SIMT_BF162 a, SIMT_BF162 b) { return {__hmin(a.x, b.x), __hmin(a.y, b.y)}; }
