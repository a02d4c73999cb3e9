// Device functions of CUDA and HIP: arithmetic, bits, atomics.
#pragma once
#include <ctime>

#include "simt/core.h"

// ---- atomics: one OS thread runs all, so plain operations between scheduling points are atomic
#define SIMT_ATOMIC(name, expression)                                        \
  template <typename T, typename U>                                          \
  SIMT_RAW T name(T* at, U given) {                                          \
    simt::simt_atomic(at, sizeof(T), SIMT_SITE);                             \
    const T old = *at, value = static_cast<T>(given);                        \
    (void)value;                                                             \
    *at = expression;                                                        \
    return old;                                                              \
  }                                                                          \
  template <typename T, typename U> SIMT_RAW T name##_block(T* at, U given) { return name(at, given); } \
  template <typename T, typename U> SIMT_RAW T name##_system(T* at, U given) { return name(at, given); }
SIMT_ATOMIC(atomicAdd, old + value)
SIMT_ATOMIC(atomicSub, old - value)
SIMT_ATOMIC(atomicMin, old < value ? old : value)
SIMT_ATOMIC(atomicMax, old > value ? old : value)
SIMT_ATOMIC(atomicAnd, old & value)
SIMT_ATOMIC(atomicOr, old | value)
SIMT_ATOMIC(atomicXor, old ^ value)
SIMT_ATOMIC(atomicExch, value)
SIMT_ATOMIC(atomicInc, old >= value ? T(0) : old + 1)
SIMT_ATOMIC(atomicDec, old == 0 || old > value ? value : old - 1)
SIMT_ATOMIC(unsafeAtomicAdd, old + value)
#undef SIMT_ATOMIC
template <typename T, typename U, typename V>
SIMT_RAW T atomicCAS(T* at, U given, V value) {
  const T expected = static_cast<T>(given);
  simt::simt_compare(at, sizeof(T), &expected);
  simt::simt_atomic(at, sizeof(T), SIMT_SITE);
  const T old = *at;
  if (old == expected) *at = static_cast<T>(value);
  return old;
}
template <typename T, typename U, typename V>
SIMT_RAW T atomicCAS_block(T* at, U e, V v) { return atomicCAS(at, e, v); }
template <typename T, typename U, typename V>
SIMT_RAW T atomicCAS_system(T* at, U e, V v) { return atomicCAS(at, e, v); }
#define __HIP_MEMORY_SCOPE_WORKGROUP 3
#define __HIP_MEMORY_SCOPE_AGENT 4
#define __HIP_MEMORY_SCOPE_SYSTEM 5
#define __hip_atomic_fetch_add(p, v, order, scope) atomicAdd(p, v)
#define __hip_atomic_fetch_min(p, v, order, scope) atomicMin(p, v)
#define __hip_atomic_fetch_max(p, v, order, scope) atomicMax(p, v)
#define __hip_atomic_fetch_and(p, v, order, scope) atomicAnd(p, v)
#define __hip_atomic_fetch_or(p, v, order, scope) atomicOr(p, v)
#define __hip_atomic_fetch_xor(p, v, order, scope) atomicXor(p, v)
#define __hip_atomic_exchange(p, v, order, scope) atomicExch(p, v)
template <typename T> SIMT_RAW T simt_atomic_load(const volatile T* at) {
  simt::simt_atomic(at, sizeof(T), SIMT_SITE);
  return *at;
}
template <typename T, typename U> SIMT_RAW void simt_atomic_store(volatile T* at, U value) {
  simt::simt_atomic(at, sizeof(T), SIMT_SITE);
  *at = static_cast<T>(value);
}
#define __hip_atomic_load(p, order, scope) simt_atomic_load(p)
#define __hip_atomic_store(p, v, order, scope) simt_atomic_store(p, v)

// ---- loads and stores with hints
template <typename T> T __ldg(const T* p) { return *p; }
template <typename T> T __ldcg(const T* p) { return *p; }
template <typename T> T __ldca(const T* p) { return *p; }
template <typename T> T __ldcs(const T* p) { return *p; }
template <typename T> T __ldlu(const T* p) { return *p; }
template <typename T> T __ldcv(const T* p) { return *p; }
template <typename T> void __stcg(T* p, T v) { *p = v; }
template <typename T> void __stcs(T* p, T v) { *p = v; }
template <typename T> void __stwb(T* p, T v) { *p = v; }
template <typename T> void __stwt(T* p, T v) { *p = v; }

// ---- bits
inline int __popc(unsigned v) { return __builtin_popcount(v); }
inline int __popcll(unsigned long long v) { return __builtin_popcountll(v); }
inline int __ffs(int v) { return __builtin_ffs(v); }
inline int __ffsll(long long v) { return __builtin_ffsll(v); }
inline int __clz(int v) { return v ? __builtin_clz(static_cast<unsigned>(v)) : 32; }
inline int __clzll(long long v) { return v ? __builtin_clzll(static_cast<unsigned long long>(v)) : 64; }
inline unsigned __brev(unsigned v) {
  unsigned out = 0;
  for (int i = 0; i < 32; ++i) out |= (v >> i & 1u) << (31 - i);
  return out;
}
inline unsigned long long __brevll(unsigned long long v) {
  return static_cast<unsigned long long>(__brev(static_cast<unsigned>(v))) << 32 |
         __brev(static_cast<unsigned>(v >> 32));
}
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned s) {
  const std::uint64_t both = static_cast<std::uint64_t>(b) << 32 | a;
  unsigned out = 0;
  for (int i = 0; i < 4; ++i) out |= static_cast<unsigned>(both >> (s >> 4 * i & 7u) * 8 & 0xffu) << 8 * i;
  return out;
}
inline unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned n) {
  return static_cast<unsigned>(((static_cast<std::uint64_t>(hi) << 32 | lo) << (n & 31u)) >> 32);
}
inline unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned n) {
  return static_cast<unsigned>((static_cast<std::uint64_t>(hi) << 32 | lo) >> (n & 31u));
}
inline int __mul24(int a, int b) { return (a << 8 >> 8) * (b << 8 >> 8); }
inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffffu) * (b & 0xffffffu); }
inline int __mulhi(int a, int b) { return static_cast<int>(static_cast<std::int64_t>(a) * b >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<std::uint64_t>(a) * b >> 32);
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}
inline unsigned __sad(int a, int b, unsigned c) { return c + static_cast<unsigned>(std::abs(a - b)); }
inline unsigned __usad(unsigned a, unsigned b, unsigned c) { return c + (a > b ? a - b : b - a); }
inline int __dp4a(int a, int b, int c) {
  for (int i = 0; i < 4; ++i)
    c += static_cast<signed char>(a >> 8 * i) * static_cast<signed char>(b >> 8 * i);
  return c;
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  for (int i = 0; i < 4; ++i) c += (a >> 8 * i & 255u) * (b >> 8 * i & 255u);
  return c;
}
inline int amd_mixed_dot(int a, int b, int c, bool) { return __dp4a(a, b, c); }
inline unsigned amd_mixed_dot(unsigned a, unsigned b, unsigned c, bool) { return __dp4a(a, b, c); }
template <typename To, typename From> To simt_cast(From v) {
  To out;
  std::memcpy(&out, &v, sizeof out);
  return out;
}
inline int __float_as_int(float v) { return simt_cast<int>(v); }
inline unsigned __float_as_uint(float v) { return simt_cast<unsigned>(v); }
inline float __int_as_float(int v) { return simt_cast<float>(v); }
inline float __uint_as_float(unsigned v) { return simt_cast<float>(v); }
inline long long __double_as_longlong(double v) { return simt_cast<long long>(v); }
inline double __longlong_as_double(long long v) { return simt_cast<double>(v); }
inline int __double2hiint(double v) { return static_cast<int>(simt_cast<long long>(v) >> 32); }
inline int __double2loint(double v) { return static_cast<int>(simt_cast<long long>(v)); }
inline double __hiloint2double(int hi, int lo) {
  return simt_cast<double>(static_cast<long long>(hi) << 32 | static_cast<unsigned>(lo));
}

// ---- conversions and arithmetic
inline int __float2int_rn(float v) { return static_cast<int>(std::nearbyint(v)); }
inline int __float2int_rz(float v) { return static_cast<int>(v); }
inline int __float2int_rd(float v) { return static_cast<int>(std::floor(v)); }
inline int __float2int_ru(float v) { return static_cast<int>(std::ceil(v)); }
inline unsigned __float2uint_rn(float v) { return static_cast<unsigned>(std::nearbyint(v)); }
inline unsigned __float2uint_rz(float v) { return static_cast<unsigned>(v); }
inline float __int2float_rn(int v) { return static_cast<float>(v); }
inline float __uint2float_rn(unsigned v) { return static_cast<float>(v); }
inline int __double2int_rn(double v) { return static_cast<int>(std::nearbyint(v)); }
inline int __double2int_rz(double v) { return static_cast<int>(v); }
inline float __double2float_rn(double v) { return static_cast<float>(v); }
inline float __expf(float v) { return std::exp(v); }
inline float __exp10f(float v) { return std::pow(10.0f, v); }
inline float __logf(float v) { return std::log(v); }
inline float __log2f(float v) { return std::log2(v); }
inline float __log10f(float v) { return std::log10(v); }
inline float __sinf(float v) { return std::sin(v); }
inline float __cosf(float v) { return std::cos(v); }
inline float __tanf(float v) { return std::tan(v); }
inline void __sincosf(float v, float* s, float* c) { *s = std::sin(v), *c = std::cos(v); }
inline float __powf(float a, float b) { return std::pow(a, b); }
inline float __fdividef(float a, float b) { return a / b; }
inline float __saturatef(float v) { return v < 0 ? 0.0f : v > 1 ? 1.0f : v; }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline float __fsqrt_rn(float v) { return std::sqrt(v); }
inline float __frcp_rn(float v) { return 1.0f / v; }
inline float __frsqrt_rn(float v) { return 1.0f / std::sqrt(v); }
inline double __drcp_rn(double v) { return 1.0 / v; }
inline double __dsqrt_rn(double v) { return std::sqrt(v); }
inline double __dsub_rn(double a, double b) { return a - b; }
inline float __fadd_rz(float a, float b) { return a + b; }
inline float fdividef(float a, float b) { return a / b; }
inline float exp10f(float v) { return std::pow(10.0f, v); }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }
inline long long __double2ll_rz(double v) { return static_cast<long long>(v); }
inline long long __double2ll_rn(double v) { return static_cast<long long>(std::nearbyint(v)); }
inline long long __float2ll_rn(float v) { return static_cast<long long>(std::nearbyint(v)); }
inline unsigned __double2uint_rn(double v) { return static_cast<unsigned>(std::nearbyint(v)); }
inline double __int2double_rn(int v) { return v; }
inline double __ll2double_rn(long long v) { return static_cast<double>(v); }
inline double __uint2double_rn(unsigned v) { return v; }
inline float rsqrtf(float v) { return 1.0f / std::sqrt(v); }
inline double rsqrt(double v) { return 1.0 / std::sqrt(v); }
inline float rsqrt(float v) { return 1.0f / std::sqrt(v); }
inline float rcbrtf(float v) { return 1.0f / std::cbrt(v); }
inline float sinpif(float v) { return std::sin(v * 3.14159265358979f); }
inline float cospif(float v) { return std::cos(v * 3.14159265358979f); }
inline double sinpi(double v) { return std::sin(v * 3.14159265358979323846); }
inline double cospi(double v) { return std::cos(v * 3.14159265358979323846); }
inline double normcdf(double v) { return 0.5 * std::erfc(-v * 0.70710678118654752440); }
inline float normcdff(float v) { return static_cast<float>(normcdf(static_cast<double>(v))); }
template <typename A, typename B,
          typename = std::enable_if_t<std::is_arithmetic_v<A> && std::is_arithmetic_v<B>>>
constexpr std::common_type_t<A, B> min(A a, B b) {
  using T = std::common_type_t<A, B>;
  return static_cast<T>(a) < static_cast<T>(b) ? static_cast<T>(a) : static_cast<T>(b);
}
template <typename A, typename B,
          typename = std::enable_if_t<std::is_arithmetic_v<A> && std::is_arithmetic_v<B>>>
constexpr std::common_type_t<A, B> max(A a, B b) {
  using T = std::common_type_t<A, B>;
  return static_cast<T>(a) > static_cast<T>(b) ? static_cast<T>(a) : static_cast<T>(b);
}
inline unsigned umin(unsigned a, unsigned b) { return a < b ? a : b; }
inline unsigned umax(unsigned a, unsigned b) { return a > b ? a : b; }
using std::isfinite;
using std::isinf;
using std::isnan;

// ---- time
SIMT_RAW inline long long clock64() {
  static long long ticks = 0;
  return ticks += 16;
}
inline long long wall_clock64() { return clock64(); }
#define clock() clock64()
inline void __nanosleep(unsigned) { simt::simt_atomic(nullptr, 0, 0); }
#define __builtin_amdgcn_s_sleep(n) __nanosleep(n)
inline void __trap() { std::abort(); }
inline void __brkpt() {}
