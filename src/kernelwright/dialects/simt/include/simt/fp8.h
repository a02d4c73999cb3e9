// Floats of 8 bits, in OCP's forms E4M3 and E5M2: conversions to and from them, with CUDA's and HIP's
// names, which FP8(name) and FP8_C(name) give.
// Not covered: scaled and blocked forms; AMD's older forms (fnuz).
#pragma once
#ifndef SIMT_SITE
#include <math.h>
#endif

using FP8(fp8_storage_t) = unsigned char;
using FP8(fp8x2_storage_t) = unsigned short;
using FP8(fp8x4_storage_t) = unsigned;
enum FP8(saturation_t) { FP8_C(NOSAT), FP8_C(SATFINITE) };
enum FP8(fp8_interpretation_t) { FP8_C(E4M3), FP8_C(E5M2) };

// Rounds to nearest, ties to even. Without saturation E4M3 becomes no number and E5M2 infinite.
__host__ __device__ inline unsigned char FP8(cvt_double_to_fp8)(double v, FP8(saturation_t) s, FP8(fp8_interpretation_t) kind) {
  const bool is_e4 = kind == FP8_C(E4M3);
  const int fraction = is_e4 ? 3 : 2, least = is_e4 ? -6 : -14;
  const double most = is_e4 ? 448.0 : 57344.0;
  const unsigned char sign = __builtin_signbit(v) ? 0x80 : 0, nan = is_e4 ? 0x7f : 0x7e, inf = is_e4 ? 0x7f : 0x7c;
  const unsigned char last = is_e4 ? 0x7e : 0x7b;
  if (v != v) return nan;
  const double size = v < 0 ? -v : v;
  int exponent = least;
  double step = is_e4 ? 0.001953125 : 0.0000152587890625;  // of numbers at the least exponent: 2^-9, 2^-16
  double top = is_e4 ? 0.03125 : 0.0001220703125;          // 2^(least + 1)
  while (size >= top && exponent < (is_e4 ? 8 : 15)) ++exponent, step *= 2, top *= 2;
  const double whole = size / step;
  if (!(whole < (4 << fraction))) return sign | (s == FP8_C(SATFINITE) ? last : inf);
  long n = static_cast<long>(whole);
  const double rest = whole - n;
  n += rest > 0.5 || (rest == 0.5 && n % 2);
  if (n * step > most) return sign | (s == FP8_C(SATFINITE) ? last : inf);
  // n counts steps: the leading bit adds to the exponent's field by itself
  const long field = exponent == least ? n : n + (static_cast<long>(exponent - least) << fraction);
  return sign | static_cast<unsigned char>(field);
}
__host__ __device__ inline unsigned char FP8(cvt_float_to_fp8)(float v, FP8(saturation_t) s, FP8(fp8_interpretation_t) kind) {
  return FP8(cvt_double_to_fp8)(v, s, kind);
}
__host__ __device__ inline unsigned short FP8(cvt_float2_to_fp8x2)(float2 v, FP8(saturation_t) s, FP8(fp8_interpretation_t) kind) {
  return static_cast<unsigned short>(FP8(cvt_float_to_fp8)(v.x, s, kind) | FP8(cvt_float_to_fp8)(v.y, s, kind) << 8);
}
__host__ __device__ inline float simt_of_fp8(unsigned char bits, FP8(fp8_interpretation_t) kind) {
  const bool is_e4 = kind == FP8_C(E4M3);
  const int fraction = is_e4 ? 3 : 2, exponent = (bits & 0x7f) >> fraction, rest = bits & ((1 << fraction) - 1);
  const bool is_last = is_e4 ? (bits & 0x7f) == 0x7f : exponent == 31;
  if (is_last) return is_e4 || rest ? __builtin_nanf("") : bits & 0x80 ? -__builtin_inff() : __builtin_inff();
  float v = exponent ? rest + (1 << fraction) : rest;
  v *= is_e4 ? 0.001953125f : 0.0000152587890625f;
  for (int i = 1; i < exponent; ++i) v *= 2;
  return bits & 0x80 ? -v : v;
}

#define SIMT_FP8(name, KIND)                                                                              \
  struct FP8(fp8_##name) {                                                                                \
    unsigned char __x;                                                                                    \
    FP8(fp8_##name)() = default;                                                                          \
    template <typename T> __host__ __device__ explicit FP8(fp8_##name)(T v)                               \
        : __x(FP8(cvt_float_to_fp8)(static_cast<float>(v), FP8_C(SATFINITE), FP8_C(KIND))) {}             \
    __host__ __device__ operator float() const { return simt_of_fp8(__x, FP8_C(KIND)); }                  \
  };                                                                                                      \
  struct alignas(2) FP8(fp8x2_##name) {                                                                   \
    unsigned short __x;                                                                                   \
    FP8(fp8x2_##name)() = default;                                                                        \
    __host__ __device__ explicit FP8(fp8x2_##name)(float2 v)                                              \
        : __x(FP8(cvt_float2_to_fp8x2)(v, FP8_C(SATFINITE), FP8_C(KIND))) {}                              \
    __host__ __device__ operator float2() const {                                                         \
      return make_float2(simt_of_fp8(__x & 255, FP8_C(KIND)), simt_of_fp8(__x >> 8, FP8_C(KIND)));        \
    }                                                                                                     \
  };                                                                                                      \
  struct alignas(4) FP8(fp8x4_##name) {                                                                   \
    unsigned __x;                                                                                         \
    FP8(fp8x4_##name)() = default;                                                                        \
    __host__ __device__ explicit FP8(fp8x4_##name)(float4 v)                                              \
        : __x(FP8(fp8x2_##name)(make_float2(v.x, v.y)).__x |                                              \
              static_cast<unsigned>(FP8(fp8x2_##name)(make_float2(v.z, v.w)).__x) << 16) {}               \
    __host__ __device__ operator float4() const {                                                         \
      return make_float4(simt_of_fp8(__x & 255, FP8_C(KIND)), simt_of_fp8(__x >> 8 & 255, FP8_C(KIND)),   \
                         simt_of_fp8(__x >> 16 & 255, FP8_C(KIND)), simt_of_fp8(__x >> 24, FP8_C(KIND))); \
    }                                                                                                     \
  };
SIMT_FP8(e4m3, E4M3)
SIMT_FP8(e5m2, E5M2)
#undef SIMT_FP8
