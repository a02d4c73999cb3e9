// Vector operations on floating-point numbers: arithmetic, conversions, division, transcendentals.
#include <algorithm>
#include <limits>
#include <tuple>

#include "values.h"

namespace isa {
namespace {

template <class T>
T minimum(T a, T b) {  // a NaN loses against a number; -0 is less than +0
  if (is_nan(a)) return is_nan(b) ? quieted(a) : b;
  if (is_nan(b)) return a;
  if (a == b) return std::signbit(double(a)) ? a : b;
  return a < b ? a : b;
}
template <class T>
T maximum(T a, T b) {
  if (is_nan(a)) return is_nan(b) ? quieted(a) : b;
  if (is_nan(b)) return a;
  if (a == b) return std::signbit(double(a)) ? b : a;
  return a > b ? a : b;
}
template <class T>
T median(T a, T b, T c) {
  if (is_nan(a) || is_nan(b) || is_nan(c)) return minimum(minimum(a, b), c);
  return maximum(minimum(a, b), minimum(maximum(a, b), c));
}

template <class To, class From>
To to_integer(From value) {  // towards zero, to the nearest representable number; NaN becomes 0
  const double v = double(value);
  if (std::isnan(v)) return 0;
  if (v <= double(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
  if (v >= double(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
  return To(v);
}

template <class T>
T fused(T a, T b, T c) {
  if constexpr (sizeof(T) == 2) return T(std::fma(double(a), double(b), double(c)));
  else return std::fma(a, b, c);
}

// Multiplication in which zero times anything is zero.
f32 legacy_product(f32 a, f32 b) { return a == 0 || b == 0 ? 0.0f : a * b; }

template <class T> constexpr int BIAS = sizeof(T) == 8 ? 1023 : 127;
template <class T> constexpr int FRACTION = sizeof(T) == 8 ? 52 : 23;
template <class T>
int biased_exponent(T v) { return int(bits_as<Bits<T>>(v) >> FRACTION<T> & (2 * BIAS<T> + 1)); }
template <class T>
bool is_denormal(T v) { return v != 0 && biased_exponent(v) == 0; }

// Scales an operand of a division so that no step of it leaves the range of normal numbers; the last
// step (V_DIV_FMAS) then scales the quotient back. Source: AMD, "RDNA3 Instruction Set
// Architecture", V_DIV_SCALE_F32 and _F64, where hardware also scales at the border of denormals.
template <class T>
T div_scale(T value, T denominator, T numerator, bool& is_scaled) {
  constexpr bool is_double = sizeof(T) == 8;
  constexpr int SCALE = is_double ? 128 : 64, FAR = is_double ? 768 : 96;
  is_scaled = numerator == 0 || denominator == 0;
  const T up = std::ldexp(value, SCALE), down = std::ldexp(value, -SCALE);
  if (is_scaled) return nan_of<T>();
  const int apart = biased_exponent(numerator) - biased_exponent(denominator);
  if (apart >= FAR) {
    is_scaled = true;
    return bits_as<Bits<T>>(value) == bits_as<Bits<T>>(denominator) ? up : value;
  }
  if (is_denormal(denominator)) return up;
  const bool is_tiny = is_denormal(T(1) / denominator), is_tiny_ratio = apart <= 1 - BIAS<T> || is_denormal(numerator / denominator);
  if (is_tiny && is_tiny_ratio) {  // the text says "up", which would leave the range
    is_scaled = true;
    return bits_as<Bits<T>>(value) == bits_as<Bits<T>>(denominator) ? down : value;
  }
  if (is_tiny) return down;
  if (is_tiny_ratio) {
    is_scaled = true;
    return bits_as<Bits<T>>(value) == bits_as<Bits<T>>(numerator) ? up : value;
  }
  return biased_exponent(numerator) <= FRACTION<T> + (is_double ? 1 : 0) ? up : value;
}

template <class T>
T div_fixup(T quotient, T denominator, T numerator) {
  const bool is_negative = std::signbit(denominator) != std::signbit(numerator);
  const auto signed_ = [&](T v) { return is_negative ? -v : v; };
  if (is_nan(numerator)) return quieted(numerator);
  if (is_nan(denominator)) return quieted(denominator);
  if (denominator == 0 && numerator == 0) return -nan_of<T>();
  if (std::isinf(denominator) && std::isinf(numerator)) return -nan_of<T>();
  if (denominator == 0 || std::isinf(numerator)) return signed_(T(INFINITY));
  if (std::isinf(denominator) || numerator == 0) return signed_(T(0));
  const int apart = biased_exponent(numerator) - biased_exponent(denominator);
  if (apart < (sizeof(T) == 8 ? -1075 : -150)) return signed_(T(0));
  // A finite quotient that overflowed on the way is infinite, as correctly rounded division has it;
  // AMD's text is silent about it.
  return signed_(is_nan(quotient) ? T(INFINITY) : std::fabs(quotient));
}

template <class T>
void div_scale_lanes(Wave& w, const Instruction& i) {  // target, mask, value, denominator, numerator
  const u64 lanes = w.exec();
  u64 scaled = 0;
  for (int first = 0; first < w.width; first += CHUNK) {
    T a[CHUNK], b[CHUNK], c[CHUNK], r[CHUNK];
    source(w, i, 2, 2, first, a), source(w, i, 3, 2, first, b), source(w, i, 4, 2, first, c);
    for (int l = 0; l < CHUNK; ++l) {
      bool is_scaled;
      r[l] = div_scale(a[l], b[l], c[l], is_scaled);
      scaled |= u64{is_scaled} << (first + l);
    }
    store(w, i, 0, first, r, lanes);
  }
  if (i.at[1].reg != NOWHERE) w.set_mask(i.at[1].reg, scaled & lanes);
}

// The sum, scaled: a quotient that becomes denormal is rounded there, from more digits.
template <class T>
T scaled_back(T a, T b, T c, int scale) {
  using Wide = std::conditional_t<sizeof(T) == 8, long double, f64>;
  return settled(T(std::ldexp(std::fma(Wide(a), Wide(b), Wide(c)), scale)), a, b, c);
}

template <class T>
void div_fmas_lanes(Wave& w, const Instruction& i) {
  const u64 lanes = w.exec(), scaled = w.mask(VCC);
  for (int first = 0; first < w.width; first += CHUNK) {
    T a[CHUNK], b[CHUNK], c[CHUNK], r[CHUNK];
    source(w, i, 1, 1, first, a), source(w, i, 2, 1, first, b), source(w, i, 3, 1, first, c);
    for (int l = 0; l < CHUNK; ++l) {
      r[l] = settled(std::fma(a[l], b[l], c[l]), a[l], b[l], c[l]);
      // Hardware: up if the third operand is 2 or more, otherwise down; AMD's text says less.
      const int scale = sizeof(T) == 8 ? 128 : 64;
      if (scaled >> (first + l) & 1)
        r[l] = scaled_back(a[l], b[l], c[l], biased_exponent(c[l]) > BIAS<T> ? scale : -scale);
    }
    finish_float(w, i, r);
    store(w, i, 0, first, r, lanes);
  }
}

// The binary digits of 2/pi after the point, the first ones highest.
constexpr u64 TWO_OVER_PI[] = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041,
    0xfe5163abdebbc561, 0xb7246e3a424dd2e0, 0x06492eea09d1921c,
    0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41,
    0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08,
    0x56033046fc7b6bab, 0xf0cfbc209af4361d, 0xa9e391615ee61b08,
};

// 53 digits of 2/pi from a place that the argument's exponent says, for reductions of angles.
f64 trig_preop(f64 value, u32 segment) {
  const int exponent = biased_exponent(value);
  u32 shift = 53 * (segment & 31);
  if (exponent > 1077) shift += u32(exponent - 1077);
  if (shift + 53 > 64 * 20) return 0;
  const u32 word = shift / 64, bit = shift % 64;
  const u64 high = TWO_OVER_PI[word] << bit | (bit ? TWO_OVER_PI[word + 1] >> (64 - bit) : 0);
  const int scale = -53 - int(shift) + (exponent >= 1968 ? 128 : 0);
  return std::ldexp(f64(high >> 11), scale);
}

template <class T>
T fraction(T v) {
  const T below_one = bits_as<T>(Bits<T>(bits_as<Bits<T>>(T(1)) - 1));
  return std::min(T(v - std::floor(v)), below_one);
}
template <class T>
T mantissa(T v) {
  int exponent;
  return std::isfinite(v) ? std::frexp(v, &exponent) : v;
}
template <class T>
i32 exponent_of(T v) {
  int exponent = 0;
  if (std::isfinite(v)) std::frexp(v, &exponent);
  return exponent;
}
f64 turn(f64 v) { return (v - std::floor(v)) * 6.283185307179586476925; }

template <class T>
void add_arithmetic(Table& t, const std::string& suffix) {
  t["v_add_" + suffix] = lanes([](T a, T b) -> T { return a + b; });
  t["v_sub_" + suffix] = lanes([](T a, T b) -> T { return a - b; });
  t["v_subrev_" + suffix] = lanes([](T a, T b) -> T { return b - a; });
  t["v_mul_" + suffix] = lanes([](T a, T b) -> T { return a * b; });
  t["v_min_" + suffix] = t["v_min_num_" + suffix] = lanes([](T a, T b) -> T { return minimum(a, b); });
  t["v_max_" + suffix] = t["v_max_num_" + suffix] = lanes([](T a, T b) -> T { return maximum(a, b); });
  t["v_fma_" + suffix] = lanes([](T a, T b, T c) -> T { return fused(a, b, c); });
  for (const char* name : {"v_fmac_", "v_fmaak_", "v_fmamk_"}) t[name + suffix] = t["v_fma_" + suffix];
  t["v_rcp_" + suffix] = lanes([](T a) -> T { return T(1 / std::conditional_t<sizeof(T) == 8, f64, f32>(a)); });
  t["v_rsq_" + suffix] = lanes([](T a) -> T {
    return T(sizeof(T) == 4 ? 1.0 / std::sqrt(f64(a)) : sizeof(T) == 2 ? 1.0f / std::sqrt(f32(a)) : 1.0 / std::sqrt(f64(a)));
  });
  t["v_sqrt_" + suffix] = lanes([](T a) -> T { return T(std::sqrt(std::conditional_t<sizeof(T) == 8, f64, f32>(a))); });
  using W = std::conditional_t<sizeof(T) == 8, f64, f32>;
  t["v_trunc_" + suffix] = lanes([](T a) -> T { return T(std::trunc(W(a))); });
  t["v_ceil_" + suffix] = lanes([](T a) -> T { return T(std::ceil(W(a))); });
  t["v_floor_" + suffix] = lanes([](T a) -> T { return T(std::floor(W(a))); });
  t["v_rndne_" + suffix] = lanes([](T a) -> T { return T(__builtin_roundeven(W(a))); });
  t["v_fract_" + suffix] = lanes([](T a) -> T { return sizeof(T) == 2 ? T(fraction(f32(a))) : T(fraction(W(a))); });
  t["v_frexp_mant_" + suffix] = lanes([](T a) -> T { return T(mantissa(W(a))); });
}

template <class T>
void add_three(Table& t, const std::string& suffix) {
  t["v_min3_" + suffix] = lanes([](T a, T b, T c) -> T { return minimum(minimum(a, b), c); });
  t["v_max3_" + suffix] = lanes([](T a, T b, T c) -> T { return maximum(maximum(a, b), c); });
  t["v_med3_" + suffix] = lanes([](T a, T b, T c) -> T { return median(a, b, c); });
  t["v_minmax_" + suffix] = lanes([](T a, T b, T c) -> T { return maximum(minimum(a, b), c); });
  t["v_maxmin_" + suffix] = lanes([](T a, T b, T c) -> T { return minimum(maximum(a, b), c); });
  t["v_exp_" + suffix] = lanes([](T a) -> T { return T(std::exp2(f64(a))); });
  t["v_log_" + suffix] = lanes([](T a) -> T { return T(std::log2(f64(a))); });
  t["v_sin_" + suffix] = lanes([](T a) -> T { return T(std::sin(turn(a))); });
  t["v_cos_" + suffix] = lanes([](T a) -> T { return T(std::cos(turn(a))); });
}

void add_conversions(Table& t) {
  t["v_cvt_f32_i32"] = lanes([](i32 a) -> f32 { return f32(a); });
  t["v_cvt_f32_u32"] = lanes([](u32 a) -> f32 { return f32(a); });
  t["v_cvt_f64_i32"] = lanes([](i32 a) -> f64 { return a; });
  t["v_cvt_f64_u32"] = lanes([](u32 a) -> f64 { return a; });
  t["v_cvt_f64_f32"] = lanes([](f32 a) -> f64 { return a; });
  t["v_cvt_f32_f64"] = lanes([](f64 a) -> f32 { return f32(a); });
  t["v_cvt_f16_f32"] = lanes([](f32 a) -> f16 { return f16(a); });
  t["v_cvt_f32_f16"] = lanes([](f16 a) -> f32 { return f32(a); });
  t["v_cvt_f16_u16"] = lanes([](u16 a) -> f16 { return f16(f32(a)); });
  t["v_cvt_f16_i16"] = lanes([](i16 a) -> f16 { return f16(f32(a)); });
  t["v_cvt_u16_f16"] = lanes([](f16 a) -> u16 { return to_integer<u16>(a); });
  t["v_cvt_i16_f16"] = lanes([](f16 a) -> i16 { return to_integer<i16>(a); });
  t["v_cvt_u32_f32"] = lanes([](f32 a) -> u32 { return to_integer<u32>(a); });
  t["v_cvt_i32_f32"] = lanes([](f32 a) -> i32 { return to_integer<i32>(a); });
  t["v_cvt_u32_f64"] = lanes([](f64 a) -> u32 { return to_integer<u32>(a); });
  t["v_cvt_i32_f64"] = lanes([](f64 a) -> i32 { return to_integer<i32>(a); });
  t["v_cvt_floor_i32_f32"] = t["v_cvt_flr_i32_f32"] =
      lanes([](f32 a) -> i32 { return to_integer<i32>(std::floor(a)); });
  t["v_cvt_nearest_i32_f32"] = t["v_cvt_rpi_i32_f32"] =
      lanes([](f32 a) -> i32 { return to_integer<i32>(std::floor(a + 0.5f)); });
  t["v_cvt_f32_ubyte0"] = lanes([](u32 a) -> f32 { return f32(a & 255); });
  t["v_cvt_f32_ubyte1"] = lanes([](u32 a) -> f32 { return f32(a >> 8 & 255); });
  t["v_cvt_f32_ubyte2"] = lanes([](u32 a) -> f32 { return f32(a >> 16 & 255); });
  t["v_cvt_f32_ubyte3"] = lanes([](u32 a) -> f32 { return f32(a >> 24); });
}

}  // namespace

void add_vector_float(Table& t) {
  add_arithmetic<f32>(t, "f32"), add_arithmetic<f64>(t, "f64"), add_arithmetic<f16>(t, "f16");
  add_three<f32>(t, "f32"), add_three<f16>(t, "f16");
  add_conversions(t);
  t["v_rcp_iflag_f32"] = t["v_rcp_f32"];
  t["v_mul_legacy_f32"] = t["v_mul_dx9_zero_f32"] = lanes([](f32 a, f32 b) -> f32 { return legacy_product(a, b); });
  t["v_mad_f32"] = t["v_mac_f32"] = lanes([](f32 a, f32 b, f32 c) -> f32 { return a * b + c; });
  t["v_ldexp_f32"] = lanes([](f32 a, i32 b) -> f32 { return std::ldexp(a, b); });
  t["v_ldexp_f64"] = lanes([](f64 a, i32 b) -> f64 { return std::ldexp(a, b); });
  t["v_ldexp_f16"] = lanes([](f16 a, i16 b) -> f16 { return f16(std::ldexp(f64(a), b)); });
  t["v_frexp_exp_i32_f32"] = lanes([](f32 a) -> i32 { return exponent_of(a); });
  t["v_frexp_exp_i32_f64"] = lanes([](f64 a) -> i32 { return exponent_of(a); });
  t["v_frexp_exp_i16_f16"] = lanes([](f16 a) -> i16 { return i16(exponent_of(f32(a))); });
  t["v_div_scale_f32"] = {div_scale_lanes<f32>, 0, false, 32};
  t["v_div_scale_f64"] = {div_scale_lanes<f64>, 0, false, 64};
  t["v_div_fmas_f32"] = {div_fmas_lanes<f32>, 0, true, 32};
  t["v_div_fmas_f64"] = {div_fmas_lanes<f64>, 0, true, 64};
  t["v_trig_preop_f64"] = lanes([](f64 a, u32 b) -> f64 { return trig_preop(a, b); });
  t["v_div_fixup_f32"] = lanes([](f32 a, f32 b, f32 c) -> f32 { return div_fixup(a, b, c); });
  t["v_div_fixup_f64"] = lanes([](f64 a, f64 b, f64 c) -> f64 { return div_fixup(a, b, c); });
  t["v_div_fixup_f16"] = lanes([](f16 a, f16 b, f16 c) -> f16 { return f16(div_fixup(f32(a), f32(b), f32(c))); });
}

}  // namespace isa
