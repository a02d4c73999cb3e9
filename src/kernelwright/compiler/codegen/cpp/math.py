"""The prelude of emitted C++: branch-free float32 functions that a compiler can vectorise.

Only the pieces that a kernel uses are emitted. Each keeps IEEE semantics: a NaN argument gives NaN,
and infinities and signed zeros behave as in libm. Errors are below 3 ulp; the test of this file
states them one by one.

Not covered: sin and cos lose digits beyond 2^30. float64 functions are libm's, one element at a
time.

Source:
    Coefficients of exp, log and erf: N. Juffa's public minimax fits (NVIDIA developer forums).
    Half conversions: M. Dukhan, FP16 (github.com/Maratyszcza/FP16). The others are Taylor series,
    long enough for the interval that their argument reduction leaves.
"""

from __future__ import annotations

import re

from kernelwright.compiler.codegen.cpp.folds import FOLDS
from kernelwright.compiler.codegen.float8 import FLOAT8, narrowing, widening

FUNCTIONS = {
    "bits": """
static inline float as_float(int32_t i) { float f; __builtin_memcpy(&f, &i, 4); return f; }
static inline int32_t as_bits(float f) { int32_t i; __builtin_memcpy(&i, &f, 4); return i; }
""",
    "exp_poly": """
// e^r for |r| <= ln(2)/2, where x = n ln 2 + r. Adding 1.5 * 2^23 rounds to a whole number, which
// then stands in the low bits of t.
static inline float exp_poly(float x, float t) {
  const float n = t - 12582912.f;
  const float r = (x - n * 0.693145752f) - n * 1.42860677e-6f;  // ln 2 in two parts
  float p = 1.37805939e-3f;
  p = p * r + 8.37312452e-3f;
  p = p * r + 4.16695364e-2f;
  p = p * r + 1.66664720e-1f;
  p = p * r + 4.99999851e-1f;
  p = p * r + 1.f;
  return p * r + 1.f;
}
""",
    "exp": """
static inline float exp(float x) {
  x = x > 104.f ? 104.f : x;
  x = x < -104.f ? -104.f : x;
  const float t = x * 1.44269504f + 12582912.f;
  const int32_t n = as_bits(t) - 0x4b400000, half = n >> 1;  // two steps, for subnormal results
  return math::exp_poly(x, t) * as_float((half + 127) << 23) * as_float((n - half + 127) << 23);
}
static inline double exp(double x) { return __builtin_exp(x); }
""",
    "within": """
// An index, or 0 where it is none of so many: nothing is read there, and the caller is told.
static inline int64_t within(int64_t i, int64_t size, int& outside) {
  if ((uint64_t)i < (uint64_t)size) return i;
  outside = 1;
  return 0;
}
""",
    "exp_normal": """
// exp where a subnormal result may as well be zero, because something larger is added to it.
static inline float exp_normal(float x) {
  x = x > 89.f ? 89.f : x;
  x = x < -87.5f ? -87.5f : x;
  const float t = x * 1.44269504f + 12582912.f;
  const float p = math::exp_poly(x, t);
  return (p + p) * as_float((as_bits(t) << 23) + (126 << 23));
}
static inline double exp_normal(double x) { return __builtin_exp(x); }
""",
    "expm1": """
// 2^n p(r) + (2^n - 1), with p near e^r - 1; computed at half scale so that 2^128 is not needed.
static inline float expm1(float x) {
  float y = x > 104.f ? 104.f : x;
  y = y < -40.f ? -40.f : y;
  const float n = __builtin_rintf(y * 1.44269504f);
  const float r = (y - n * 0.693145752f) - n * 1.42860677e-6f;
  float p = 1.98412698e-4f;
  p = p * r + 1.38888889e-3f;
  p = p * r + 8.33333333e-3f;
  p = p * r + 4.16666667e-2f;
  p = p * r + 1.66666667e-1f;
  p = p * r + 5.e-1f;
  p = p * (r * r) + r;
  const int32_t whole = (int32_t)n < 128 ? (int32_t)n : 128;
  const float s = as_float((whole + 126) << 23);
  const float e = 2.f * (s * p + (s - 0.5f));
  return x > 88.7228394f ? __builtin_inff() : (x == 0.f ? x : e);
}
static inline double expm1(double x) { return __builtin_expm1(x); }
""",
    "log": """
// x = 2^e m with m in [2/3, 4/3); log m by a polynomial in m - 1.
static inline float log(float x) {
  const bool tiny = x < 1.17549435e-38f;
  const float y = tiny ? x * 8388608.f : x;
  const int32_t e = (as_bits(y) - 0x3f2aaaab) & (int32_t)0xff800000;
  const float m = as_float(as_bits(y) - e);
  const float n = (float)e * 1.19209290e-7f + (tiny ? -23.f : 0.f);
  const float f = m - 1.f, s = f * f;
  float r = -0.130310059f, t = 0.140869141f;
  r = r * s + -0.121483512f;
  t = t * s + 0.139814854f;
  r = r * s + -0.166846126f;
  t = t * s + 0.200120345f;
  r = r * s + -0.249996200f;
  r = t * f + r;
  r = r * f + 0.333331972f;
  r = r * f + -0.5f;
  r = r * s + f;
  r = n * 0.693147182f + r;
  r = x > 3.40282347e38f ? x : r;
  r = x < 0.f ? __builtin_nanf("") : r;
  r = x == 0.f ? -__builtin_inff() : r;
  return x != x ? x : r;
}
static inline double log(double x) { return __builtin_log(x); }
""",
    "log1p": """
// log(u) corrected by what rounding 1 + x to u lost.
static inline float log1p(float x) {
  const float u = 1.f + x;
  const float lost = x - (u - 1.f);
  const float r = math::log(u) + lost / u;
  return (u == 0.f) | (u > 3.40282347e38f) | (x == 0.f) ? (x == 0.f ? x : math::log(u)) : r;
}
static inline double log1p(double x) { return __builtin_log1p(x); }
""",
    "log2": """
static inline float log2(float x) { return (float)(math::log2_wide(x)); }
static inline double log2(double x) { return __builtin_log2(x); }
""",
    "log2_wide": """
// log2 of a positive float with about 35 good bits: 2 atanh((m - 1) / (m + 1)) / ln 2 in double.
static inline double log2_wide(float x) {
  const bool tiny = x < 1.17549435e-38f;
  const float y = tiny ? x * 8388608.f : x;
  const int32_t e = (as_bits(y) - 0x3f3504f3) & (int32_t)0xff800000;
  const double m = (double)as_float(as_bits(y) - e);
  const double n = (double)(e >> 23) + (tiny ? -23.0 : 0.0);
  const double f = (m - 1.0) / (m + 1.0), s = f * f;
  double p = 1.0 / 15;
  p = p * s + 1.0 / 13;
  p = p * s + 1.0 / 11;
  p = p * s + 1.0 / 9;
  p = p * s + 1.0 / 7;
  p = p * s + 1.0 / 5;
  p = p * s + 1.0 / 3;
  p = p * s + 1.0;
  double r = n + 2.8853900817779268 * (f * p);
  r = x > 3.40282347e38f ? (double)x : r;
  r = x < 0.f ? __builtin_nan("") : r;
  r = x == 0.f ? -__builtin_inf() : r;
  return x != x ? (double)x : r;
}
""",
    "pow": """
// 2^(y log2 |x|) in double, then the sign and the special cases of C's pow.
static inline float pow(float x, float y) {
  double t = (double)y * math::log2_wide(__builtin_fabsf(x));
  t = t > 160.0 ? 160.0 : t;
  t = t < -160.0 ? -160.0 : t;
  const double n = __builtin_rint(t);
  const double r = (t - n) * 0.69314718055994531;
  double p = 1.0 / 40320;
  p = p * r + 1.0 / 5040;
  p = p * r + 1.0 / 720;
  p = p * r + 1.0 / 120;
  p = p * r + 1.0 / 24;
  p = p * r + 1.0 / 6;
  p = p * r + 0.5;
  p = p * r + 1.0;
  p = p * r + 1.0;
  const int32_t whole = (int32_t)n, half = whole >> 1;
  const double high = as_float((half + 127) << 23);
  const double scale = high * as_float((whole - half + 127) << 23);
  float magnitude = (float)(p * scale);
  const float ay = __builtin_fabsf(y), inf = __builtin_inff();
  const bool whole_y = __builtin_truncf(y) == y;  // infinities count as even
  const bool odd = whole_y & (ay < 16777216.f) & (__builtin_truncf(y * 0.5f) != y * 0.5f);
  magnitude = (__builtin_fabsf(x) == 1.f) & (ay == inf) ? 1.f : magnitude;
  const bool negative = as_bits(x) < 0;
  float result = negative & odd ? -magnitude : magnitude;
  result = (x < 0.f) & (x > -inf) & !whole_y ? __builtin_nanf("") : result;
  result = (x != x) | (y != y) ? x + y : result;
  return (x == 1.f) | (y == 0.f) ? 1.f : result;
}
static inline double pow(double x, double y) { return __builtin_pow(x, y); }
static inline int64_t pow(int64_t x, int64_t y) {
  int64_t r = y < 0 ? (x == 1 ? 1 : x == -1 ? (y % 2 ? -1 : 1) : 0) : 1;
  for (; y > 0; y >>= 1, x *= x) r *= y & 1 ? x : 1;
  return r;
}
static inline int32_t pow(int32_t x, int32_t y) { return (int32_t)pow((int64_t)x, (int64_t)y); }
""",
    "tanh": """
static inline float tanh(float x) {
  const float t = math::expm1(-2.f * __builtin_fabsf(x));
  const float r = t / (-2.f - t);
  return x != x ? x : __builtin_copysignf(r, x);
}
static inline double tanh(double x) { return __builtin_tanh(x); }
""",
    "sigmoid": """
static inline float sigmoid(float x) { return 1.f / (1.f + math::exp_normal(-x)); }
static inline double sigmoid(double x) { return 1.0 / (1.0 + __builtin_exp(-x)); }
""",
    "erf": """
// Two polynomials, joined at |x| = 0.9277: x p(x^2), and 1 - exp(q(|x|)).
static inline float erf(float x) {
  const float t = __builtin_fabsf(x), s = x * x;
  float u = -3.88396438e-3f * t + 2.42546219e-2f;
  float q = -1.72853470e-5f * t + 3.83197126e-4f;
  q = q * s + u;
  q = q * t + -1.06777877e-1f;
  q = q * t + -6.34846687e-1f;
  q = q * t + -1.28717512e-1f;
  q = q * t - t;
  const float far = __builtin_copysignf(1.f - math::exp_normal(q), x);
  float p = -5.96761703e-4f;
  p = p * s + 4.99119423e-3f;
  p = p * s + -2.67681349e-2f;
  p = p * s + 1.12819925e-1f;
  p = p * s + -3.76125336e-1f;
  p = p * s + 1.28379166e-1f;
  const float near = p * x + x;
  return x != x ? x : (t > 0.927734375f ? far : near);
}
static inline double erf(double x) { return __builtin_erf(x); }
""",
    "sin_cos": """
// Quadrant and remainder in double: n pi/2 is subtracted in two parts, each with a fused multiply.
// Beyond |x| = 2^30 the remainder has lost its digits; it is only kept within bounds.
static inline float sin_cos(float x, int32_t shift) {
  const double n = __builtin_rint((double)x * 0.63661977236758134);
  double r = ((double)x - n * 1.5707963267948966) - n * 6.123233995736766e-17;
  r = r > 0.8 ? 0.8 : r;
  r = r < -0.8 ? -0.8 : r;
  const double s = r * r;
  double sine = -2.5052108385441720e-8;  // -1/11!
  sine = sine * s + 2.7557319223985893e-6;
  sine = sine * s - 1.9841269841269841e-4;
  sine = sine * s + 8.3333333333333333e-3;
  sine = sine * s - 1.6666666666666667e-1;
  sine = sine * s * r + r;
  double cosine = 2.0876756987868099e-9;  // 1/12!
  cosine = cosine * s - 2.7557319223985888e-7;
  cosine = cosine * s + 2.4801587301587302e-5;
  cosine = cosine * s - 1.3888888888888889e-3;
  cosine = cosine * s + 4.1666666666666667e-2;
  cosine = cosine * s - 0.5;
  cosine = cosine * s + 1.0;
  // n mod 4 by arithmetic: n may be larger than any integer type
  const int32_t quadrant = ((int32_t)(n - 4.0 * __builtin_floor(n * 0.25)) + shift) & 3;
  const double value = quadrant & 1 ? cosine : sine;
  return (float)(quadrant & 2 ? -value : value);
}
""",
    "sin": """
static inline float sin(float x) { return x == 0.f ? x : math::sin_cos(x, 0); }
static inline double sin(double x) { return __builtin_sin(x); }
""",
    "cos": """
static inline float cos(float x) { return math::sin_cos(x, 1); }
static inline double cos(double x) { return __builtin_cos(x); }
""",
    "maximum": """
// NaN wins, as in torch.
template <class T> static inline T maximum(T a, T b) { return (a > b) | (a != a) ? a : b; }
""",
    "minimum": """
template <class T> static inline T minimum(T a, T b) { return (a < b) | (a != a) ? a : b; }
""",
    "sign": """
template <class T> static inline T sign(T x) { return (T)((x > 0) - (x < 0)); }
""",
    "from_bfloat16": """
static inline float from_bfloat16(uint16_t h) { return as_float((int32_t)((uint32_t)h << 16)); }
""",
    "to_bfloat16": """
static inline uint16_t to_bfloat16(float f) {  // to nearest, ties to even
  const uint32_t u = (uint32_t)as_bits(f);
  const uint32_t r = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
  return (uint16_t)(f != f ? 0x7fc0u : r);
}
""",
    "from_float16": """
static inline float from_float16(uint16_t h) {
  const uint32_t w = (uint32_t)h << 16, twice = w + w;
  const float raised = as_float((int32_t)((twice >> 4) + (0xe0u << 23)));
  const float normal = raised * 1.92592994e-34f;  // 2^-112
  const float subnormal = as_float((int32_t)((twice >> 17) | (126u << 23))) - 0.5f;
  const uint32_t bits = (uint32_t)as_bits(twice < (1u << 27) ? subnormal : normal);
  return as_float((int32_t)((w & 0x80000000u) | bits));
}
""",
    "to_float16": """
static inline uint16_t to_float16(float f) {  // to nearest, ties to even
  const uint32_t w = (uint32_t)as_bits(f), twice = w + w;
  float base = (__builtin_fabsf(f) * 5.19229686e33f) * 7.70371978e-34f;  // 2^112, then 2^-110
  uint32_t bias = twice & 0xff000000u;
  bias = bias < 0x71000000u ? 0x71000000u : bias;
  base = as_float((int32_t)((bias >> 1) + 0x07800000u)) + base;
  const uint32_t bits = (uint32_t)as_bits(base);
  const uint32_t magnitude = ((bits >> 13) & 0x7c00u) + (bits & 0x0fffu);
  return (uint16_t)((w >> 16 & 0x8000u) | (twice > 0xff000000u ? 0x7e00u : magnitude));
}
""",
}

_WORDS = {"unsigned": "uint32_t", "as_float": "as_float", "as_bits": "(uint32_t)as_bits"}
for _dtype in FLOAT8:
    FUNCTIONS[f"from_{_dtype}"] = f"""
static inline float from_{_dtype}(uint8_t h) {{
{widening(_dtype, byte="h", **_WORDS)}}}
"""
    FUNCTIONS[f"to_{_dtype}"] = f"""
static inline uint8_t to_{_dtype}(float f) {{
{narrowing(_dtype, **_WORDS)}}}
"""

_ROUNDED = {
    "rounded_product": """
// a * b, which no sum after it takes in unrounded. Plain where no such instruction is.
static inline float rounded_product(float a, float b) {
#ifdef __FP_FAST_FMAF
  return __builtin_fmaf(a, b, -0.f);
#else
  return a * b;
#endif
}
static inline double rounded_product(double a, double b) {
#ifdef __FP_FAST_FMA
  return __builtin_fma(a, b, -0.0);
#else
  return a * b;
#endif
}
""",
}

PIECES = FUNCTIONS | FOLDS | _ROUNDED
_NEEDS_BITS = re.compile(r"\bas_(float|bits)\(")


def prelude(text: str) -> str:
    """Return, as a namespace, the pieces that ``text`` uses (as ``math::name``) and their
    dependencies."""
    used: set[str] = set()
    wanted = [text]
    while wanted:
        piece = wanted.pop()
        found = set(re.findall(r"math::(\w+)", piece))
        if _NEEDS_BITS.search(piece):
            found.add("bits")
        for name in found - used:
            used.add(name)
            wanted.append(PIECES[name])
    if not used:
        return ""
    body = "\n".join(PIECES[name].strip("\n") for name in _ordered(used))
    return f"namespace math {{\n{body}\n}}  // namespace math\n"


def _ordered(used: set[str]) -> list[str]:
    """Order ``used`` so that every piece comes after the pieces that it uses."""
    done: list[str] = []

    def visit(name: str) -> None:
        if name in done:
            return
        if _NEEDS_BITS.search(PIECES[name]) and name != "bits":
            visit("bits")
        for other in re.findall(r"math::(\w+)", PIECES[name]):
            visit(other)
        done.append(name)

    for name in (key for key in PIECES if key in used):
        visit(name)
    return done
