// Half precision on the compiler's _Float16, with CUDA's and HIP's names.
// Not covered: comparisons of pairs that set masks, atomics, saturating forms.
#pragma once
#ifndef SIMT_SITE
#include <math.h>
#endif

struct __half {
  _Float16 value;
  __half() = default;
  __host__ __device__ __half(float v) : value(static_cast<_Float16>(v)) {}
  __host__ __device__ __half(double v) : value(static_cast<_Float16>(v)) {}
#define SIMT_HALF_OF(T) \
  __host__ __device__ __half(T v) : value(static_cast<_Float16>(v)) {}
  SIMT_HALF_OF(short) SIMT_HALF_OF(unsigned short) SIMT_HALF_OF(int) SIMT_HALF_OF(unsigned)
  SIMT_HALF_OF(long) SIMT_HALF_OF(unsigned long) SIMT_HALF_OF(long long) SIMT_HALF_OF(unsigned long long)
#undef SIMT_HALF_OF
  __host__ __device__ __half(_Float16 v, int) : value(v) {}
  __host__ __device__ operator float() const { return static_cast<float>(value); }
};
using half = __half;
struct alignas(4) __half2 {
  __half x, y;
};
using half2 = __half2;

__host__ __device__ inline __half simt_half(_Float16 v) { return __half(v, 0); }
__host__ __device__ inline __half __float2half(float v) { return __half(v); }
__host__ __device__ inline __half __float2half_rn(float v) { return __half(v); }
__host__ __device__ inline __half __double2half(double v) { return __half(v); }
__host__ __device__ inline __half __int2half_rn(int v) { return __half(v); }
__host__ __device__ inline float __half2float(__half v) { return v; }
__host__ __device__ inline int __half2int_rn(__half v) { return static_cast<int>(rintf(v)); }
__host__ __device__ inline int __half2int_rz(__half v) { return static_cast<int>(static_cast<float>(v)); }
__host__ __device__ inline __half2 __floats2half2_rn(float a, float b) { return {__half(a), __half(b)}; }
__host__ __device__ inline __half2 __float2half2_rn(float a) { return {__half(a), __half(a)}; }
__host__ __device__ inline __half2 __float22half2_rn(float2 v) { return {__half(v.x), __half(v.y)}; }
__host__ __device__ inline __half2 __halves2half2(__half a, __half b) { return {a, b}; }
__host__ __device__ inline __half2 __half2half2(__half a) { return {a, a}; }
__host__ __device__ inline __half2 make_half2(__half a, __half b) { return {a, b}; }
__host__ __device__ inline __half __low2half(__half2 v) { return v.x; }
__host__ __device__ inline __half __high2half(__half2 v) { return v.y; }
__host__ __device__ inline float __low2float(__half2 v) { return v.x; }
__host__ __device__ inline float __high2float(__half2 v) { return v.y; }
__host__ __device__ inline float2 __half22float2(__half2 v) { return make_float2(v.x, v.y); }
__host__ __device__ inline unsigned short __half_as_ushort(__half v) {
  unsigned short bits;
  __builtin_memcpy(&bits, &v.value, 2);
  return bits;
}
__host__ __device__ inline __half __ushort_as_half(unsigned short bits) {
  __half v;
  __builtin_memcpy(&v.value, &bits, 2);
  return v;
}

#define SIMT_HALF_OPERATION(name, op)                                                          \
  __host__ __device__ inline __half name(__half a, __half b) { return simt_half(a.value op b.value); } \
  __host__ __device__ inline __half2 name##2(__half2 a, __half2 b) {                            \
    return {name(a.x, b.x), name(a.y, b.y)};                                                   \
  }                                                                                            \
  __host__ __device__ inline __half operator op(__half a, __half b) { return name(a, b); }      \
  __host__ __device__ inline __half2 operator op(__half2 a, __half2 b) { return name##2(a, b); } \
  __host__ __device__ inline __half& operator op##=(__half& a, __half b) { return a = name(a, b); } \
  __host__ __device__ inline __half2& operator op##=(__half2& a, __half2 b) { return a = name##2(a, b); }
SIMT_HALF_OPERATION(__hadd, +)
SIMT_HALF_OPERATION(__hsub, -)
SIMT_HALF_OPERATION(__hmul, *)
SIMT_HALF_OPERATION(__hdiv, /)
#undef SIMT_HALF_OPERATION
__host__ __device__ inline __half2 __h2div(__half2 a, __half2 b) { return __hdiv2(a, b); }
__host__ __device__ inline __half __hneg(__half a) { return simt_half(-a.value); }
__host__ __device__ inline __half2 __hneg2(__half2 a) { return {__hneg(a.x), __hneg(a.y)}; }
__host__ __device__ inline __half operator-(__half a) { return __hneg(a); }
__host__ __device__ inline __half operator+(__half a) { return a; }
__host__ __device__ inline __half __habs(__half a) { return a.value < 0 ? __hneg(a) : a; }
__host__ __device__ inline __half __hfma(__half a, __half b, __half c) {
  return __half(fma(static_cast<double>(a.value), static_cast<double>(b.value), static_cast<double>(c.value)));
}
__host__ __device__ inline __half2 __hfma2(__half2 a, __half2 b, __half2 c) {
  return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
}
#define SIMT_HALF_COMPARE(name, op) \
  __host__ __device__ inline bool name(__half a, __half b) { return a.value op b.value; } \
  __host__ __device__ inline bool operator op(__half a, __half b) { return a.value op b.value; }
SIMT_HALF_COMPARE(__heq, ==)
SIMT_HALF_COMPARE(__hne, !=)
SIMT_HALF_COMPARE(__hlt, <)
SIMT_HALF_COMPARE(__hle, <=)
SIMT_HALF_COMPARE(__hgt, >)
SIMT_HALF_COMPARE(__hge, >=)
#undef SIMT_HALF_COMPARE
__host__ __device__ inline __half __hmax(__half a, __half b) { return a.value > b.value ? a : b; }
__host__ __device__ inline __half __hmin(__half a, __half b) { return a.value < b.value ? a : b; }
__host__ __device__ inline bool __hisnan(__half a) { return a.value != a.value; }
#define SIMT_HALF_FUNCTION(name, f) \
  __host__ __device__ inline __half name(__half a) { return __half(f(static_cast<float>(a))); }
SIMT_HALF_FUNCTION(hexp, expf)
SIMT_HALF_FUNCTION(hlog, logf)
SIMT_HALF_FUNCTION(hsqrt, sqrtf)
SIMT_HALF_FUNCTION(hsin, sinf)
SIMT_HALF_FUNCTION(hcos, cosf)
SIMT_HALF_FUNCTION(hfloor, floorf)
SIMT_HALF_FUNCTION(hceil, ceilf)
#undef SIMT_HALF_FUNCTION
__host__ __device__ inline __half hrsqrt(__half a) { return __half(1.0f / sqrtf(a)); }
__host__ __device__ inline __half hrcp(__half a) { return __half(1.0f / static_cast<float>(a)); }
