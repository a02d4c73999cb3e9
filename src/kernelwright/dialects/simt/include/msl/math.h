// Functions of the Metal Shading Language on numbers and vectors, overloaded as Apple's are: a call
// that mixes types is ambiguous here too. Half and bfloat are computed in float and rounded once.
// Source: Metal Shading Language Specification 4, sections 6.3 to 6.6 and 8.
#pragma once

namespace metal {

// Those on bfloat are templates, because programs define their own ones for it.
#define MSL_BFLOAT template <typename B, typename = enable_if_t<is_same_v<B, bfloat>>> inline
#define MSL_EACH_FLOAT(f, ...) \
  f(inline, float, __VA_ARGS__) f(inline, half, __VA_ARGS__) f(MSL_BFLOAT, B, __VA_ARGS__)
#define MSL_EACH_INTEGER(f, ...)                                                          \
  f(char, __VA_ARGS__) f(uchar, __VA_ARGS__) f(short, __VA_ARGS__) f(ushort, __VA_ARGS__) \
  f(int, __VA_ARGS__) f(uint, __VA_ARGS__) f(long, __VA_ARGS__) f(ulong, __VA_ARGS__)

// Vectors: component by component, with a number in place of either argument of two.
#define MSL_VECTOR1(name)                                                         \
  template <typename T, int N> vec<T, N> name(vec<T, N> a) {                      \
    for (int i = 0; i < N; ++i) a[i] = name(a[i]);                                \
    return a;                                                                     \
  }
#define MSL_VECTOR2(name)                                                         \
  template <typename T, int N> vec<T, N> name(vec<T, N> a, vec<T, N> b) {         \
    for (int i = 0; i < N; ++i) a[i] = name(a[i], b[i]);                          \
    return a;                                                                     \
  }                                                                               \
  template <typename T, int N> vec<T, N> name(vec<T, N> a, type_identity_t<T> b) { \
    return name(a, vec<T, N>(b));                                                 \
  }                                                                               \
  template <typename T, int N> vec<T, N> name(type_identity_t<T> a, vec<T, N> b) { \
    return name(vec<T, N>(a), b);                                                 \
  }
#define MSL_VECTOR3(name)                                                                 \
  template <typename T, int N>                                                            \
  vec<T, N> name(vec<T, N> a, type_identity_t<vec<T, N>> b, type_identity_t<vec<T, N>> c) { \
    for (int i = 0; i < N; ++i) a[i] = name(a[i], b[i], c[i]);                            \
    return a;                                                                             \
  }
#define MSL_SCALAR1(head, type, name, ...)                            \
  head type name(type a) {                                    \
    const float x = static_cast<float>(a);                      \
    return static_cast<type>(__VA_ARGS__);                      \
  }
#define MSL_SCALAR2(head, type, name, ...)                                          \
  head type name(type a, type b) {                                          \
    const float x = static_cast<float>(a), y = static_cast<float>(b);         \
    return static_cast<type>(__VA_ARGS__);                                    \
  }
#define MSL_SCALAR3(head, type, name, ...)                                          \
  head type name(type a, type b, type c) {                                  \
    const float x = static_cast<float>(a), y = static_cast<float>(b), z = static_cast<float>(c); \
    return static_cast<type>(__VA_ARGS__);                                    \
  }
#define MSL_FUNCTION1(name, ...) MSL_EACH_FLOAT(MSL_SCALAR1, name, __VA_ARGS__) MSL_VECTOR1(name)
#define MSL_FUNCTION2(name, ...) MSL_EACH_FLOAT(MSL_SCALAR2, name, __VA_ARGS__) MSL_VECTOR2(name)
#define MSL_FUNCTION3(name, ...) MSL_EACH_FLOAT(MSL_SCALAR3, name, __VA_ARGS__) MSL_VECTOR3(name)

#define MSL_PI 3.14159265358979323846f
#define MSL_FUNCTIONS                                                                     \
  MSL_FUNCTION1(acos, __builtin_acosf(x)) MSL_FUNCTION1(acosh, __builtin_acoshf(x))       \
  MSL_FUNCTION1(asin, __builtin_asinf(x)) MSL_FUNCTION1(asinh, __builtin_asinhf(x))       \
  MSL_FUNCTION1(atan, __builtin_atanf(x)) MSL_FUNCTION1(atanh, __builtin_atanhf(x))       \
  MSL_FUNCTION1(ceil, __builtin_ceilf(x)) MSL_FUNCTION1(cos, __builtin_cosf(x))           \
  MSL_FUNCTION1(cosh, __builtin_coshf(x)) MSL_FUNCTION1(cospi, __builtin_cosf(x * MSL_PI)) \
  MSL_FUNCTION1(exp, __builtin_expf(x)) MSL_FUNCTION1(exp2, __builtin_exp2f(x))           \
  MSL_FUNCTION1(exp10, __builtin_powf(10.0f, x)) MSL_FUNCTION1(fabs, __builtin_fabsf(x))  \
  MSL_FUNCTION1(abs, __builtin_fabsf(x)) MSL_FUNCTION1(floor, __builtin_floorf(x))        \
  MSL_FUNCTION1(fract, __builtin_fminf(x - __builtin_floorf(x), 0x1.fffffep-1f))          \
  MSL_FUNCTION1(log, __builtin_logf(x)) MSL_FUNCTION1(log2, __builtin_log2f(x))           \
  MSL_FUNCTION1(log10, __builtin_log10f(x)) MSL_FUNCTION1(rint, __builtin_rintf(x))       \
  MSL_FUNCTION1(round, __builtin_roundf(x)) MSL_FUNCTION1(rsqrt, 1.0f / __builtin_sqrtf(x)) \
  MSL_FUNCTION1(saturate, __builtin_fminf(__builtin_fmaxf(x, 0.0f), 1.0f))                \
  MSL_FUNCTION1(sign, x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x == 0.0f ? x : 0.0f)          \
  MSL_FUNCTION1(sin, __builtin_sinf(x)) MSL_FUNCTION1(sinh, __builtin_sinhf(x))           \
  MSL_FUNCTION1(sinpi, __builtin_sinf(x * MSL_PI)) MSL_FUNCTION1(sqrt, __builtin_sqrtf(x)) \
  MSL_FUNCTION1(tan, __builtin_tanf(x)) MSL_FUNCTION1(tanh, __builtin_tanhf(x))           \
  MSL_FUNCTION1(tanpi, __builtin_tanf(x * MSL_PI)) MSL_FUNCTION1(trunc, __builtin_truncf(x)) \
  MSL_FUNCTION2(atan2, __builtin_atan2f(x, y)) MSL_FUNCTION2(copysign, __builtin_copysignf(x, y)) \
  MSL_FUNCTION2(divide, x / y) MSL_FUNCTION2(fdim, __builtin_fdimf(x, y))                 \
  MSL_FUNCTION2(fmax, __builtin_fmaxf(x, y)) MSL_FUNCTION2(fmin, __builtin_fminf(x, y))   \
  MSL_FUNCTION2(max, __builtin_fmaxf(x, y)) MSL_FUNCTION2(min, __builtin_fminf(x, y))     \
  MSL_FUNCTION2(fmod, __builtin_fmodf(x, y)) MSL_FUNCTION2(pow, __builtin_powf(x, y))     \
  MSL_FUNCTION2(powr, __builtin_powf(x, y)) MSL_FUNCTION2(step, y < x ? 0.0f : 1.0f)      \
  MSL_FUNCTION3(clamp, __builtin_fminf(__builtin_fmaxf(x, y), z))                         \
  MSL_FUNCTION3(fma, __builtin_fmaf(x, y, z)) MSL_FUNCTION3(mix, x + (y - x) * z)         \
  inline float sincos(float x, float& c) { return c = __builtin_cosf(x), __builtin_sinf(x); } \
  inline half sincos(half x, half& c) {                                                   \
    return c = static_cast<half>(__builtin_cosf(x)), static_cast<half>(__builtin_sinf(x)); \
  }
MSL_FUNCTIONS
namespace precise { MSL_FUNCTIONS }
namespace fast { MSL_FUNCTIONS }
#undef MSL_FUNCTIONS

MSL_FUNCTION3(smoothstep, [](float t) { return t * t * (3.0f - 2.0f * t); }(
    __builtin_fminf(__builtin_fmaxf((z - x) / (y - x), 0.0f), 1.0f)))
MSL_FUNCTION2(nextafter, __builtin_nextafterf(x, y))
MSL_FUNCTION3(fmax3, __builtin_fmaxf(__builtin_fmaxf(x, y), z))
MSL_FUNCTION3(fmin3, __builtin_fminf(__builtin_fminf(x, y), z))
MSL_FUNCTION3(max3, __builtin_fmaxf(__builtin_fmaxf(x, y), z))
MSL_FUNCTION3(fmedian3, __builtin_fmaxf(__builtin_fminf(x, y), __builtin_fminf(__builtin_fmaxf(x, y), z)))
MSL_FUNCTION3(median3, __builtin_fmaxf(__builtin_fminf(x, y), __builtin_fminf(__builtin_fmaxf(x, y), z)))
MSL_FUNCTION3(min3, __builtin_fminf(__builtin_fminf(x, y), z))

#define MSL_PARTS(head, type, unused)                                                       \
  head type ldexp(type x, int k) { return static_cast<type>(__builtin_ldexpf(static_cast<float>(x), k)); } \
  head type frexp(type x, int& k) { return static_cast<type>(__builtin_frexpf(static_cast<float>(x), &k)); } \
  head type modf(type x, type& whole) {                                             \
    whole = trunc(x);                                                                 \
    return copysign(__builtin_isinf(static_cast<float>(x)) ? type(0) : type(x - whole), x); \
  }                                                                                   \
  head int ilogb(type x) { return __builtin_ilogbf(static_cast<float>(x)); }        \
  head bool isnan(type x) { return __builtin_isnan(static_cast<float>(x)); }        \
  head bool isinf(type x) { return __builtin_isinf(static_cast<float>(x)); }        \
  head bool isfinite(type x) { return __builtin_isfinite(static_cast<float>(x)); }  \
  head bool isnormal(type x) { return __builtin_isnormal(static_cast<float>(x)); }  \
  head bool signbit(type x) { return __builtin_signbit(static_cast<float>(x)); }    \
  head bool isunordered(type x, type y) { return isnan(x) || isnan(y); }            \
  head bool isordered(type x, type y) { return !isunordered(x, y); }
MSL_EACH_FLOAT(MSL_PARTS, )
#define MSL_TEST(name)                                                        \
  template <typename T, int N> vec<bool, N> name(vec<T, N> a) {               \
    vec<bool, N> r;                                                           \
    for (int i = 0; i < N; ++i) r[i] = name(a[i]);                            \
    return r;                                                                 \
  }
MSL_TEST(isnan) MSL_TEST(isinf) MSL_TEST(isfinite) MSL_TEST(isnormal) MSL_TEST(signbit)

// ---- integers

#define MSL_INTEGER(T, unused)                                                            \
  inline T abs(T a) { return a < T(0) ? static_cast<T>(-a) : a; }                         \
  inline T min(T a, T b) { return b < a ? b : a; }                                        \
  inline T max(T a, T b) { return a < b ? b : a; }                                        \
  inline T clamp(T a, T low, T high) { return min(max(a, low), high); }                   \
  inline T min3(T a, T b, T c) { return min(min(a, b), c); }                              \
  inline T max3(T a, T b, T c) { return max(max(a, b), c); }                              \
  inline make_unsigned_t<T> absdiff(T a, T b) {                                           \
    return static_cast<make_unsigned_t<T>>(a < b ? b - a : a - b);                        \
  }                                                                                       \
  inline T popcount(T a) { return static_cast<T>(__builtin_popcountll(make_unsigned_t<T>(a))); } \
  inline T clz(T a) {                                                                     \
    const int bits = 8 * sizeof(T);                                                       \
    return static_cast<T>(a ? __builtin_clzll(make_unsigned_t<T>(a)) - (64 - bits) : bits); \
  }                                                                                       \
  inline T ctz(T a) {                                                                     \
    return static_cast<T>(a ? __builtin_ctzll(make_unsigned_t<T>(a)) : 8 * sizeof(T));    \
  }                                                                                       \
  inline T mulhi(T a, T b) { return static_cast<T>(__int128(a) * b >> 8 * sizeof(T)); }   \
  inline T madhi(T a, T b, T c) { return static_cast<T>(mulhi(a, b) + c); }               \
  inline T rotate(T a, T by) {                                                            \
    const int bits = 8 * sizeof(T), n = static_cast<int>(by) & (bits - 1);                \
    const make_unsigned_t<T> u = a;                                                       \
    return static_cast<T>(n ? u << n | u >> (bits - n) : u);                              \
  }                                                                                       \
  inline T reverse_bits(T a) {                                                            \
    make_unsigned_t<T> r = 0, u = a;                                                      \
    for (unsigned i = 0; i < 8 * sizeof(T); ++i, u >>= 1) r = r << 1 | (u & 1);           \
    return static_cast<T>(r);                                                             \
  }                                                                                       \
  inline T extract_bits(T a, uint offset, uint bits) {                                    \
    if (!bits) return 0;                                                                  \
    const uint up = 8 * sizeof(T) - bits;                                                 \
    return static_cast<T>(static_cast<T>(a << (up - offset)) >> up);                      \
  }                                                                                       \
  inline T insert_bits(T base, T put, uint offset, uint bits) {                           \
    const make_unsigned_t<T> mask = (bits < 8 * sizeof(T) ? (1ull << bits) - 1 : ~0ull) << offset; \
    return static_cast<T>((base & ~mask) | ((make_unsigned_t<T>(put) << offset) & mask)); \
  }                                                                                       \
  inline T addsat(T a, T b) {                                                             \
    T r;                                                                                  \
    if (!__builtin_add_overflow(a, b, &r)) return r;                                      \
    return b < T(0) ? numeric_limits<T>::min() : numeric_limits<T>::max();                \
  }                                                                                       \
  inline T subsat(T a, T b) {                                                             \
    T r;                                                                                  \
    if (!__builtin_sub_overflow(a, b, &r)) return r;                                      \
    return numeric_limits<T>::is_signed && b < T(0) ? numeric_limits<T>::max()            \
                                                    : numeric_limits<T>::min();           \
  }
MSL_EACH_INTEGER(MSL_INTEGER, )
#undef MSL_INTEGER
MSL_VECTOR1(popcount) MSL_VECTOR1(clz) MSL_VECTOR1(ctz) MSL_VECTOR1(reverse_bits)
MSL_VECTOR2(mulhi) MSL_VECTOR2(rotate) MSL_VECTOR2(addsat) MSL_VECTOR2(subsat)
inline uint mul24(uint a, uint b) { return a * b; }
inline int mul24(int a, int b) { return a * b; }
inline int mad24(int a, int b, int c) { return a * b + c; }
inline uint mad24(uint a, uint b, uint c) { return a * b + c; }

// ---- relations and geometry

template <typename T> T select(T a, T b, bool c) { return c ? b : a; }
template <typename T, int N> vec<T, N> select(vec<T, N> a, vec<T, N> b, vec<bool, N> c) {
  for (int i = 0; i < N; ++i) a[i] = c[i] ? b[i] : a[i];
  return a;
}
inline bool all(bool a) { return a; }
inline bool any(bool a) { return a; }
template <int N> bool all(vec<bool, N> a) {
  bool r = true;
  for (int i = 0; i < N; ++i) r = r && a[i];
  return r;
}
template <int N> bool any(vec<bool, N> a) {
  bool r = false;
  for (int i = 0; i < N; ++i) r = r || a[i];
  return r;
}
template <typename T, int N> T dot(vec<T, N> a, vec<T, N> b) {
  T sum = a[0] * b[0];
  for (int i = 1; i < N; ++i) sum += a[i] * b[i];
  return sum;
}
template <typename T, int N> T length_squared(vec<T, N> a) { return dot(a, a); }
template <typename T, int N> T length(vec<T, N> a) { return sqrt(dot(a, a)); }
template <typename T, int N> T distance(vec<T, N> a, vec<T, N> b) { return length(a - b); }
template <typename T, int N> vec<T, N> normalize(vec<T, N> a) { return a * rsqrt(dot(a, a)); }
template <typename T> vec<T, 3> cross(vec<T, 3> a, vec<T, 3> b) {
  return vec<T, 3>(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

namespace precise { using metal::distance, metal::length, metal::normalize; }
namespace fast { using metal::distance, metal::length, metal::normalize; }

#undef MSL_EACH_INTEGER
#undef MSL_EACH_FLOAT
#undef MSL_BFLOAT
#undef MSL_SCALAR1
#undef MSL_SCALAR2
#undef MSL_SCALAR3
#undef MSL_PARTS
#undef MSL_TEST

}  // namespace metal
