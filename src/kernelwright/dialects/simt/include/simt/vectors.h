// Vector types of CUDA and HIP, with the arithmetic that HIP gives them.
#pragma once
#include "simt/core.h"

#define SIMT_VECTOR(type, name, align1, align2, align4)                                             \
  struct align1 name##1 { type x; };                                                                \
  struct align2 name##2 { type x, y; };                                                             \
  struct name##3 { type x, y, z; };                                                                 \
  struct align4 name##4 { type x, y, z, w; };                                                       \
  constexpr name##1 make_##name##1(type x) { return {x}; }                                          \
  constexpr name##2 make_##name##2(type x, type y) { return {x, y}; }                               \
  constexpr name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; }                    \
  constexpr name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }
#define A(n) alignas(n)
SIMT_VECTOR(char, char, A(1), A(2), A(4))
SIMT_VECTOR(unsigned char, uchar, A(1), A(2), A(4))
SIMT_VECTOR(short, short, A(2), A(4), A(8))
SIMT_VECTOR(unsigned short, ushort, A(2), A(4), A(8))
SIMT_VECTOR(int, int, A(4), A(8), A(16))
SIMT_VECTOR(float, float, A(4), A(8), A(16))
SIMT_VECTOR(long, long, A(8), A(16), A(16))
SIMT_VECTOR(unsigned long, ulong, A(8), A(16), A(16))
SIMT_VECTOR(long long, longlong, A(8), A(16), A(16))
SIMT_VECTOR(unsigned long long, ulonglong, A(8), A(16), A(16))
SIMT_VECTOR(double, double, A(8), A(16), A(16))
struct alignas(4) uint1 { unsigned x; };
struct alignas(8) uint2 { unsigned x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
#undef A
constexpr uint1 make_uint1(unsigned x) { return {x}; }
constexpr uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
constexpr uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }
constexpr uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
#undef SIMT_VECTOR

#if SIMT_IS_HIP
#define SIMT_OPERATOR(name, op)                                                                     \
  inline name##2 operator op(name##2 a, name##2 b) { return {a.x op b.x, a.y op b.y}; }             \
  inline name##3 operator op(name##3 a, name##3 b) { return {a.x op b.x, a.y op b.y, a.z op b.z}; } \
  inline name##4 operator op(name##4 a, name##4 b) {                                                \
    return {a.x op b.x, a.y op b.y, a.z op b.z, a.w op b.w};                                        \
  }                                                                                                 \
  inline name##2& operator op##=(name##2& a, name##2 b) { return a = a op b; }                      \
  inline name##3& operator op##=(name##3& a, name##3 b) { return a = a op b; }                      \
  inline name##4& operator op##=(name##4& a, name##4 b) { return a = a op b; }
#define SIMT_OPERATORS(name) \
  SIMT_OPERATOR(name, +) SIMT_OPERATOR(name, -) SIMT_OPERATOR(name, *) SIMT_OPERATOR(name, /)
SIMT_OPERATORS(float)
SIMT_OPERATORS(double)
SIMT_OPERATORS(int)
SIMT_OPERATORS(uint)
#undef SIMT_OPERATORS
#undef SIMT_OPERATOR
#endif
