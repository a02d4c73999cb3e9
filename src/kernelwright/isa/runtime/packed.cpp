// Operations on two halves of a register, mixed precision, and dot products of small numbers.
#include <algorithm>

#include "values.h"

namespace isa {
namespace {

// Operand k as 32 bits a lane; a floating-point constant as a half would see it.
void fetch_pair(Wave& w, const Instruction& i, int k, int first, bool is_half, u32* out) {
  if (is_half && i.at[k].kind == Kind::number) {
    for (int l = 0; l < CHUNK; ++l) out[l] = bits_as<u16>(constant<f16>(i.at[k]));
    return;
  }
  fetch(w, i, k, first, out);
}

template <class T>
T half_of(const Instruction& i, int k, u32 word, bool is_upper) {
  const int chosen = is_upper ? i.op_sel_hi : i.op_sel, negated = is_upper ? i.neg_hi : i.neg_lo;
  u16 bits = u16(word >> (chosen >> (k - 1) & 1 ? 16 : 0));
  if (negated >> (k - 1) & 1) bits ^= 0x8000;
  return bits_as<T>(bits);
}

template <class F, class T, std::size_t N>
void each_half(Wave& w, const Instruction& i) {
  const u64 lanes = writable(w, i);
  if (i.at.size() < N + 1) gap(i, "operands are missing");
  for (int first = 0; first < w.width; first += CHUNK) {
    u32 in[3][CHUNK] = {}, r[CHUNK];
    for (std::size_t k = 0; k < N; ++k) fetch_pair(w, i, int(k) + 1, first, is_float<T>, in[k]);
    for (int l = 0; l < CHUNK; ++l) {
      r[l] = 0;
      for (int upper = 0; upper < 2; ++upper) {
        T v[3] = {};
        for (std::size_t k = 0; k < N; ++k) v[k] = half_of<T>(i, int(k) + 1, in[k][l], upper);
        T made = F{}(v[0], v[1], v[2], i.clamp);
        if constexpr (is_float<T>) {
          made = settled(made, v[0], v[1], v[2]);
          if (i.clamp) made = !(made > T(0)) ? T(0) : std::min(made, T(1));
        }
        r[l] |= u32(bits_as<u16>(made)) << (16 * upper);
      }
    }
    store(w, i, 0, first, r, lanes);
  }
}

template <class T, std::size_t N, class F>
Operation halves(F) { return {each_half<F, T, N>, 0, true, u8(is_float<T> ? 64 : 0)}; }

template <class F>
void each_word(Wave& w, const Instruction& i) {  // two 32-bit floats in a pair of registers
  const u64 lanes = w.exec();
  const std::size_t n = i.at.size() - 1;
  for (int first = 0; first < w.width; first += CHUNK) {
    u64 in[3][CHUNK] = {}, r[CHUNK];
    for (std::size_t k = 0; k < n; ++k) {
      if (i.at[k + 1].kind == Kind::number) std::fill_n(in[k], CHUNK, u64{constant<u32>(i.at[k + 1])});
      else fetch(w, i, int(k) + 1, first, in[k]);
    }
    for (int l = 0; l < CHUNK; ++l) {
      r[l] = 0;
      for (int upper = 0; upper < 2; ++upper) {
        u32 v[3] = {};
        for (std::size_t k = 0; k < n; ++k) {
          v[k] = u32(in[k][l] >> ((upper ? i.op_sel_hi : i.op_sel) >> k & 1 ? 32 : 0));
          if ((upper ? i.neg_hi : i.neg_lo) >> k & 1) v[k] ^= 0x80000000u;
        }
        const f32 a = bits_as<f32>(v[0]), b = bits_as<f32>(v[1]), c = bits_as<f32>(v[2]);
        r[l] |= u64{bits_as<u32>(settled(F{}(a, b, c), a, b, c))} << (32 * upper);
      }
    }
    store(w, i, 0, first, r, lanes);
  }
}
template <class F> Operation words(F) { return {each_word<F>, 0, false, 32}; }

// The low word is one of the first source, the high word one of the second, as op_sel says of each.
void move_words(Wave& w, const Instruction& i) {
  const u64 lanes = w.exec();
  for (int first = 0; first < w.width; first += CHUNK) {
    u64 a[CHUNK], b[CHUNK], r[CHUNK];
    fetch(w, i, 1, first, a), fetch(w, i, 2, first, b);
    for (int l = 0; l < CHUNK; ++l)
      r[l] = u32(a[l] >> (i.op_sel & 1 ? 32 : 0)) | u64{u32(b[l] >> (i.op_sel & 2 ? 32 : 0))} << 32;
    store(w, i, 0, first, r, lanes);
  }
}

// f32 arithmetic of which each source is an f32 or one half of a register.
template <int TO>  // 0: f32, 1: f16 into the low half, 2: into the high half
void mixed(Wave& w, const Instruction& i) {
  const u64 lanes = w.exec();
  const int chosen = i.op_sel_hi < 0 ? 0 : i.op_sel_hi;
  for (int first = 0; first < w.width; first += CHUNK) {
    f32 v[3][CHUNK], r[CHUNK];
    for (int k = 0; k < 3; ++k) {
      Operand plain = i.at[k + 1];
      plain.is_absolute = plain.is_negated = false;
      u32 raw[CHUNK];
      if (plain.kind == Kind::vector) std::memcpy(raw, w.row(plain.reg) + first, sizeof raw);
      else std::fill_n(raw, CHUNK, plain.kind == Kind::number && chosen >> k & 1 ? u32(bits_as<u16>(constant<f16>(plain))) : scalar<u32>(w, plain));
      for (int l = 0; l < CHUNK; ++l)
        v[k][l] = modified(chosen >> k & 1 ? f32(bits_as<f16>(u16(raw[l] >> (i.op_sel >> k & 1 ? 16 : 0)))) : bits_as<f32>(raw[l]), i.at[k + 1]);
    }
    for (int l = 0; l < CHUNK; ++l) r[l] = settled(std::fma(v[0][l], v[1][l], v[2][l]), v[0][l], v[1][l], v[2][l]);
    finish_float(w, i, r);
    if (TO == 0) { store(w, i, 0, first, r, lanes); continue; }
    u32* row = w.row(i.at[0].reg) + first;
    for (int l = 0; l < CHUNK; ++l) {
      if (!(lanes >> (first + l) & 1)) continue;
      const u32 bits = bits_as<u16>(f16(r[l]));
      row[l] = TO == 1 ? (row[l] & 0xffff0000u) | bits : (row[l] & 0xffff) | bits << 16;
    }
  }
}

f32 bfloat(u32 v) { return bits_as<f32>(v << 16); }

template <int BITS_>
u32 dot(u32 a, u32 b, u32 c, bool a_signed, bool b_signed, bool saturates, bool is_signed) {
  i64 sum = is_signed ? i64(i32(c)) : i64(c);
  const auto piece = [](u32 v, int k, bool s) {
    const u32 raw = v >> k & ((1u << BITS_) - 1);
    return s ? i64(i32(raw << (32 - BITS_)) >> (32 - BITS_)) : i64(raw);
  };
  for (int k = 0; k < 32; k += BITS_) sum += piece(a, k, a_signed) * piece(b, k, b_signed);
  if (saturates) sum = is_signed ? std::clamp<i64>(sum, INT32_MIN, INT32_MAX) : std::clamp<i64>(sum, 0, UINT32_MAX);
  return u32(sum);
}

template <int BITS_, int SIGNS>  // signs of a and b; 4: neg_lo says them
void dot_lanes(Wave& w, const Instruction& i) {
  const u64 lanes = writable(w, i);
  const int signs = SIGNS == 4 ? i.neg_lo & 3 : SIGNS;
  for (int first = 0; first < w.width; first += CHUNK) {
    u32 a[CHUNK], b[CHUNK], c[CHUNK], r[CHUNK];
    source(w, i, 1, 1, first, a), fetch(w, i, 2, first, b), fetch(w, i, 3, first, c);
    for (int l = 0; l < CHUNK; ++l) r[l] = dot<BITS_>(a[l], b[l], c[l], signs & 1, signs & 2, i.clamp, SIGNS != 0);
    store(w, i, 0, first, r, lanes);
  }
}

void add_halves(Table& t) {
  t["v_pk_add_f16"] = halves<f16, 2>([](f16 a, f16 b, f16, bool) -> f16 { return a + b; });
  t["v_pk_mul_f16"] = halves<f16, 2>([](f16 a, f16 b, f16, bool) -> f16 { return a * b; });
  t["v_pk_fma_f16"] = t["v_pk_fmac_f16"] = halves<f16, 3>([](f16 a, f16 b, f16 c, bool) -> f16 { return f16(std::fma(f64(a), f64(b), f64(c))); });
  t["v_pk_min_f16"] = halves<f16, 2>([](f16 a, f16 b, f16, bool) -> f16 { return is_nan(a) ? b : is_nan(b) ? a : a < b || (a == b && std::signbit(f32(a))) ? a : b; });
  t["v_pk_max_f16"] = halves<f16, 2>([](f16 a, f16 b, f16, bool) -> f16 { return is_nan(a) ? b : is_nan(b) ? a : a > b || (a == b && std::signbit(f32(b))) ? a : b; });
  t["v_pk_add_u16"] = halves<u16, 2>([](u16 a, u16 b, u16, bool c) -> u16 { return u16(c ? std::min(a + b, 65535) : a + b); });
  t["v_pk_sub_u16"] = halves<u16, 2>([](u16 a, u16 b, u16, bool c) -> u16 { return u16(c ? std::max(a - b, 0) : a - b); });
  t["v_pk_add_i16"] = halves<i16, 2>([](i16 a, i16 b, i16, bool c) -> i16 { return i16(c ? std::clamp(a + b, -32768, 32767) : a + b); });
  t["v_pk_sub_i16"] = halves<i16, 2>([](i16 a, i16 b, i16, bool c) -> i16 { return i16(c ? std::clamp(a - b, -32768, 32767) : a - b); });
  t["v_pk_mul_lo_u16"] = halves<u16, 2>([](u16 a, u16 b, u16, bool) -> u16 { return u16(u32{a} * b); });
  t["v_pk_mad_u16"] = t["v_pk_mad_i16"] = halves<u16, 3>([](u16 a, u16 b, u16 c, bool) -> u16 { return u16(u32{a} * b + c); });
  t["v_pk_min_u16"] = halves<u16, 2>([](u16 a, u16 b, u16, bool) -> u16 { return std::min(a, b); });
  t["v_pk_max_u16"] = halves<u16, 2>([](u16 a, u16 b, u16, bool) -> u16 { return std::max(a, b); });
  t["v_pk_min_i16"] = halves<i16, 2>([](i16 a, i16 b, i16, bool) -> i16 { return std::min(a, b); });
  t["v_pk_max_i16"] = halves<i16, 2>([](i16 a, i16 b, i16, bool) -> i16 { return std::max(a, b); });
  t["v_pk_lshlrev_b16"] = halves<u16, 2>([](u16 a, u16 b, u16, bool) -> u16 { return u16(b << (a & 15)); });
  t["v_pk_lshrrev_b16"] = halves<u16, 2>([](u16 a, u16 b, u16, bool) -> u16 { return u16(b >> (a & 15)); });
  t["v_pk_ashrrev_i16"] = halves<i16, 2>([](i16 a, i16 b, i16, bool) -> i16 { return i16(b >> (a & 15)); });
}

void add_dots(Table& t) {
  t["v_dot4_i32_iu8"] = {dot_lanes<8, 4>, 0, true}, t["v_dot8_i32_iu4"] = {dot_lanes<4, 4>, 0, true};
  t["v_dot4_u32_u8"] = {dot_lanes<8, 0>, 0, true}, t["v_dot8_u32_u4"] = {dot_lanes<4, 0>, 0, true};
  t["v_dot4_i32_i8"] = t["v_dot4c_i32_i8"] = {dot_lanes<8, 3>, 0, true};
  t["v_dot8_i32_i4"] = t["v_dot8c_i32_i4"] = {dot_lanes<4, 3>, 0, true};
  t["v_dot2_u32_u16"] = {dot_lanes<16, 0>, 0, true};
  t["v_dot2_i32_i16"] = t["v_dot2c_i32_i16"] = {dot_lanes<16, 3>, 0, true};
  t["v_dot2_f32_f16"] = t["v_dot2c_f32_f16"] = t["v_dot2acc_f32_f16"] = lanes([](u32 a, u32 b, f32 c) -> f32 {
    const f64 low = f64(bits_as<f16>(u16(a))) * f64(bits_as<f16>(u16(b)));
    return f32(low + f64(bits_as<f16>(u16(a >> 16))) * f64(bits_as<f16>(u16(b >> 16))) + f64(c));
  });
  t["v_dot2_f32_bf16"] = t["v_dot2acc_f32_bf16"] = t["v_dot2c_f32_bf16"] = lanes([](u32 a, u32 b, f32 c) -> f32 {
    return f32(f64(bfloat(a)) * bfloat(b) + f64(bfloat(a >> 16)) * bfloat(b >> 16) + f64(c));
  });
}

}  // namespace

void add_packed(Table& t) {
  add_halves(t), add_dots(t);
  t["v_pk_fma_f32"] = words([](f32 a, f32 b, f32 c) -> f32 { return std::fma(a, b, c); });
  t["v_pk_mul_f32"] = words([](f32 a, f32 b, f32) -> f32 { return a * b; });
  t["v_pk_add_f32"] = words([](f32 a, f32 b, f32) -> f32 { return a + b; });
  t["v_pk_mov_b32"] = {move_words};
  t["v_fma_mix_f32"] = {mixed<0>, 0, true, 32};
  t["v_fma_mixlo_f16"] = {mixed<1>, 0, true, 32}, t["v_fma_mixhi_f16"] = {mixed<2>, 0, true, 32};
  t["v_cvt_pkrtz_f16_f32"] = t["v_cvt_pk_rtz_f16_f32"] = lanes([](f32 a, f32 b) -> u32 {
    const auto towards_zero = [](f32 v) {
      f16 h = f16(v);
      u16 bits = bits_as<u16>(h);
      if (!is_nan(h) && std::fabs(f32(h)) > std::fabs(v)) --bits;
      return bits;
    };
    return towards_zero(a) | u32{towards_zero(b)} << 16;
  });
}

}  // namespace isa
