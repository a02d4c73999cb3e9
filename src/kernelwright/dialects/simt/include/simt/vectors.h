// Vector types of CUDA and HIP, with the arithmetic that HIP gives them.
#pragma once
#include "simt/core.h"

#include <type_traits>

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
// The operators that HIP gives its vector types, as templates: a program's own come before them.
namespace simt {
template <typename V> struct VectorOf { static constexpr unsigned n = 0; };
#define SIMT_KIND(name)                                                     \
  template <> struct VectorOf<name##2> { static constexpr unsigned n = 2; }; \
  template <> struct VectorOf<name##3> { static constexpr unsigned n = 3; }; \
  template <> struct VectorOf<name##4> { static constexpr unsigned n = 4; };
SIMT_KIND(char) SIMT_KIND(uchar) SIMT_KIND(short) SIMT_KIND(ushort) SIMT_KIND(int) SIMT_KIND(uint)
SIMT_KIND(long) SIMT_KIND(ulong) SIMT_KIND(longlong) SIMT_KIND(ulonglong) SIMT_KIND(float)
SIMT_KIND(double)
#undef SIMT_KIND
template <typename V> using IfVector = std::enable_if_t<VectorOf<V>::n != 0, int>;
template <typename V, typename U>
using IfScaled = std::enable_if_t<VectorOf<V>::n != 0 && std::is_convertible_v<U, double>, int>;
template <typename V> V filled(decltype(V::x) value) {
  V all;
  for (unsigned i = 0; i < VectorOf<V>::n; ++i) (&all.x)[i] = value;
  return all;
}
}  // namespace simt
#define SIMT_OPERATOR(op)                                                                            \
  template <typename V, simt::IfVector<V> = 0> V operator op(const V& a, const V& b) {               \
    V all;                                                                                           \
    for (unsigned i = 0; i < simt::VectorOf<V>::n; ++i) (&all.x)[i] = (&a.x)[i] op (&b.x)[i];        \
    return all;                                                                                      \
  }                                                                                                  \
  template <typename V, typename U, simt::IfScaled<V, U> = 0> V operator op(const V& a, U b) {       \
    return a op simt::filled<V>(b);                                                                  \
  }                                                                                                  \
  template <typename U, typename V, simt::IfScaled<V, U> = 0> V operator op(U a, const V& b) {       \
    return simt::filled<V>(a) op b;                                                                  \
  }                                                                                                  \
  template <typename V, simt::IfVector<V> = 0> V& operator op##=(V& a, const V& b) { return a = a op b; } \
  template <typename V, typename U, simt::IfScaled<V, U> = 0> V& operator op##=(V& a, U b) {         \
    return a = a op simt::filled<V>(b);                                                              \
  }
SIMT_OPERATOR(+)
SIMT_OPERATOR(-)
SIMT_OPERATOR(*)
SIMT_OPERATOR(/)
SIMT_OPERATOR(%)
SIMT_OPERATOR(&)
SIMT_OPERATOR(|)
SIMT_OPERATOR(^)
#undef SIMT_OPERATOR
template <typename V, simt::IfVector<V> = 0> V operator-(const V& a) {
  V all;  // not 0 - a, which is no negative zero
  for (unsigned i = 0; i < simt::VectorOf<V>::n; ++i) (&all.x)[i] = -(&a.x)[i];
  return all;
}
template <typename V, simt::IfVector<V> = 0> bool operator==(const V& a, const V& b) {
  for (unsigned i = 0; i < simt::VectorOf<V>::n; ++i)
    if (!((&a.x)[i] == (&b.x)[i])) return false;
  return true;
}
template <typename V, simt::IfVector<V> = 0> bool operator!=(const V& a, const V& b) { return !(a == b); }
#endif
