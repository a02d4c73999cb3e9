// Vector operations on integers and bits, with carries, and selections.
#include <algorithm>
#include <tuple>

#include "values.h"

namespace isa {
namespace {

i32 signed24(u32 v) { return i32(v << 8) >> 8; }
u32 field(u32 v, u32 at, u32 n) { at &= 31, n &= 31; return n ? v >> at & ((1u << n) - 1) : 0; }
i32 signed_field(u32 v, u32 at, u32 n) {
  at &= 31, n &= 31;
  if (!n) return 0;
  return at + n >= 32 ? i32(v) >> at : i32(v << (32 - at - n)) >> (32 - n);
}
u32 reversed(u32 v) { return __builtin_bitreverse32(v); }
u32 permuted(u32 high, u32 low, u32 selectors) {
  const u64 bytes = u64{high} << 32 | low;
  u32 r = 0;
  for (int k = 0; k < 4; ++k) {
    const u32 s = selectors >> (8 * k) & 255;
    u32 byte = s >= 13 ? 255 : s == 12 ? 0 : 0;
    if (s < 8) byte = u32(bytes >> (8 * s)) & 255;
    else if (s < 12) byte = bytes >> (16 * (s - 8) + 15) & 1 ? 255 : 0;
    r |= byte << (8 * k);
  }
  return r;
}

// Additions and subtractions that take and leave carries: target, mask, a, b[, mask].
template <int KIND, bool HAS_CARRY>  // 0: a + b, 1: a - b, 2: b - a
void with_carry(Wave& w, const Instruction& i) {
  const u64 lanes = writable(w, i);
  const std::size_t n = i.at.size();
  if (n < 4) gap(i, "operands are missing");
  const u64 in = !HAS_CARRY ? 0 : n > 4 ? w.mask(i.at[4].reg) : w.mask(VCC);
  u64 out = 0;
  for (int first = 0; first < w.width; first += CHUNK) {
    u32 a[CHUNK], b[CHUNK], r[CHUNK];
    source(w, i, 2, 2, first, a), source(w, i, 3, 2, first, b);
    for (int l = 0; l < CHUNK; ++l) {
      const u64 carry = in >> (first + l) & 1, x = KIND == 2 ? b[l] : a[l], y = KIND == 2 ? a[l] : b[l];
      const u64 whole = KIND == 0 ? x + y + carry : x - y - carry;
      r[l] = i.clamp && whole >> 32 ? (KIND == 0 ? ~0u : 0) : u32(whole);
      out |= (whole >> 32 & 1) << (first + l);
    }
    store(w, i, 0, first, r, lanes);
  }
  if (i.at[1].reg != NOWHERE) w.set_mask(i.at[1].reg, out & lanes);
}

template <bool IS_SIGNED>
void multiply_add_64(Wave& w, const Instruction& i) {  // target, mask, a, b, c
  const u64 lanes = w.exec();
  u64 out = 0;
  for (int first = 0; first < w.width; first += CHUNK) {
    u32 a[CHUNK], b[CHUNK];
    u64 c[CHUNK], r[CHUNK];
    fetch(w, i, 2, first, a), fetch(w, i, 3, first, b), fetch(w, i, 4, first, c);
    for (int l = 0; l < CHUNK; ++l) {
      if (IS_SIGNED) {
        i64 sum;
        out |= u64{__builtin_add_overflow(i64{i32(a[l])} * i32(b[l]), i64(c[l]), &sum)} << (first + l);
        r[l] = u64(sum);
      } else {
        out |= u64{__builtin_add_overflow(u64{a[l]} * b[l], c[l], &r[l])} << (first + l);
      }
    }
    store(w, i, 0, first, r, lanes);
  }
  if (i.at[1].reg != NOWHERE) w.set_mask(i.at[1].reg, out & lanes);
}

template <class T>
void select(Wave& w, const Instruction& i) {  // target, if clear, if set[, mask]
  const u64 lanes = writable(w, i), chosen = i.at.size() > 3 ? w.mask(i.at[3].reg) : w.mask(VCC);
  for (int first = 0; first < w.width; first += CHUNK) {
    T a[CHUNK], b[CHUNK], r[CHUNK];
    source(w, i, 1, 1, first, a), fetch(w, i, 2, first, b);
    for (int l = 0; l < CHUNK; ++l) r[l] = chosen >> (first + l) & 1 ? b[l] : a[l];
    store(w, i, 0, first, r, lanes);
  }
}

void swap_rows(Wave& w, const Instruction& i) {
  for (int l = 0; l < w.width; ++l)
    if (w.exec() >> l & 1) std::swap(w.row(i.at[0].reg)[l], w.row(i.at[1].reg)[l]);
}

// Additions that may saturate: the result is worked out in more bits.
template <class T, int SIGN, bool IS_REVERSED>
void saturating(Wave& w, const Instruction& i) {
  const u64 lanes = writable(w, i);
  constexpr i64 low = std::is_signed_v<T> ? -(i64{1} << (sizeof(T) * 8 - 1)) : 0;
  constexpr i64 high = low + (i64{1} << (sizeof(T) * 8)) - 1;
  for (int first = 0; first < w.width; first += CHUNK) {
    T a[CHUNK], b[CHUNK], r[CHUNK];
    source(w, i, 1, 1, first, a), source(w, i, 2, 1, first, b);
    for (int l = 0; l < CHUNK; ++l) {
      const i64 whole = IS_REVERSED ? i64(b[l]) + SIGN * i64(a[l]) : i64(a[l]) + SIGN * i64(b[l]);
      r[l] = T(i.clamp ? std::clamp(whole, low, high) : whole);
    }
    store(w, i, 0, first, r, lanes);
  }
}

void add_sums(Table& t) {
  t["v_add_nc_u32"] = t["v_add_u32"] = {saturating<u32, 1, false>, 0, true};
  t["v_sub_nc_u32"] = t["v_sub_u32"] = {saturating<u32, -1, false>, 0, true};
  t["v_subrev_nc_u32"] = t["v_subrev_u32"] = {saturating<u32, -1, true>, 0, true};
  t["v_add_nc_i32"] = t["v_add_i32"] = {saturating<i32, 1, false>, 0, true};
  t["v_sub_nc_i32"] = t["v_sub_i32"] = {saturating<i32, -1, false>, 0, true};
  t["v_add_nc_u16"] = t["v_add_u16"] = {saturating<u16, 1, false>, 0, true};
  t["v_sub_nc_u16"] = t["v_sub_u16"] = {saturating<u16, -1, false>, 0, true};
  t["v_subrev_u16"] = {saturating<u16, -1, true>, 0, true};
  t["v_add_nc_i16"] = t["v_add_i16"] = {saturating<i16, 1, false>, 0, true};
  t["v_sub_nc_i16"] = t["v_sub_i16"] = {saturating<i16, -1, false>, 0, true};
  t["v_add_co_u32"] = {with_carry<0, false>, 0, true};
  t["v_sub_co_u32"] = {with_carry<1, false>, 0, true};
  t["v_subrev_co_u32"] = {with_carry<2, false>, 0, true};
  t["v_add_co_ci_u32"] = t["v_addc_co_u32"] = {with_carry<0, true>, 0, true};
  t["v_sub_co_ci_u32"] = t["v_subb_co_u32"] = {with_carry<1, true>, 0, true};
  t["v_subrev_co_ci_u32"] = t["v_subbrev_co_u32"] = {with_carry<2, true>, 0, true};
  t["v_mad_u64_u32"] = {multiply_add_64<false>};
  t["v_mad_i64_i32"] = {multiply_add_64<true>};
  t["v_add3_u32"] = lanes([](u32 a, u32 b, u32 c) -> u32 { return a + b + c; });
  t["v_xad_u32"] = lanes([](u32 a, u32 b, u32 c) -> u32 { return (a ^ b) + c; });
  t["v_sad_u32"] = lanes([](u32 a, u32 b, u32 c) -> u32 { return (a > b ? a - b : b - a) + c; });
  t["v_lshl_add_u64"] = lanes([](u64 a, u32 b, u64 c) -> u64 { return (a << (b & 7)) + c; });
}

void add_products(Table& t) {
  t["v_mul_lo_u32"] = t["v_mul_lo_i32"] = lanes([](u32 a, u32 b) -> u32 { return a * b; });
  t["v_mul_hi_u32"] = lanes([](u32 a, u32 b) -> u32 { return u32(u64{a} * b >> 32); });
  t["v_mul_hi_i32"] = lanes([](i32 a, i32 b) -> i32 { return i32(i64{a} * b >> 32); });
  t["v_mul_lo_u16"] = lanes([](u16 a, u16 b) -> u16 { return u16(u32{a} * b); });
  t["v_mul_u32_u24"] = lanes([](u32 a, u32 b) -> u32 { return (a & 0xffffff) * (b & 0xffffff); });
  t["v_mul_i32_i24"] = lanes([](u32 a, u32 b) -> u32 { return u32(signed24(a)) * u32(signed24(b)); });
  t["v_mul_hi_u32_u24"] = lanes([](u32 a, u32 b) -> u32 { return u32(u64{a & 0xffffff} * (b & 0xffffff) >> 32); });
  t["v_mul_hi_i32_i24"] = lanes([](u32 a, u32 b) -> i32 { return i32(i64{signed24(a)} * signed24(b) >> 32); });
  t["v_mad_u32_u24"] = lanes([](u32 a, u32 b, u32 c) -> u32 { return (a & 0xffffff) * (b & 0xffffff) + c; });
  t["v_mad_i32_i24"] = lanes([](u32 a, u32 b, u32 c) -> u32 { return u32(signed24(a)) * u32(signed24(b)) + c; });
  t["v_mad_u32_u16"] = lanes([](u16 a, u16 b, u32 c) -> u32 { return u32{a} * b + c; });
  t["v_mad_i32_i16"] = lanes([](i16 a, i16 b, u32 c) -> u32 { return u32(i32{a} * b) + c; });
  t["v_mad_u16"] = t["v_mad_legacy_u16"] = lanes([](u16 a, u16 b, u16 c) -> u16 { return u16(u32{a} * b + c); });
  t["v_mad_i16"] = t["v_mad_legacy_i16"] = t["v_mad_u16"];
}

void add_shifts(Table& t) {
  t["v_lshlrev_b32"] = lanes([](u32 a, u32 b) -> u32 { return b << (a & 31); });
  t["v_lshrrev_b32"] = lanes([](u32 a, u32 b) -> u32 { return b >> (a & 31); });
  t["v_ashrrev_i32"] = lanes([](u32 a, i32 b) -> i32 { return b >> (a & 31); });
  t["v_lshlrev_b64"] = lanes([](u32 a, u64 b) -> u64 { return b << (a & 63); });
  t["v_lshrrev_b64"] = lanes([](u32 a, u64 b) -> u64 { return b >> (a & 63); });
  t["v_ashrrev_i64"] = lanes([](u32 a, i64 b) -> i64 { return b >> (a & 63); });
  t["v_lshlrev_b16"] = lanes([](u16 a, u16 b) -> u16 { return u16(b << (a & 15)); });
  t["v_lshrrev_b16"] = lanes([](u16 a, u16 b) -> u16 { return u16(b >> (a & 15)); });
  t["v_ashrrev_i16"] = lanes([](u16 a, i16 b) -> i16 { return i16(b >> (a & 15)); });
  t["v_lshl_add_u32"] = lanes([](u32 a, u32 b, u32 c) -> u32 { return (a << (b & 31)) + c; });
  t["v_add_lshl_u32"] = lanes([](u32 a, u32 b, u32 c) -> u32 { return (a + b) << (c & 31); });
  t["v_lshl_or_b32"] = lanes([](u32 a, u32 b, u32 c) -> u32 { return a << (b & 31) | c; });
  t["v_alignbit_b32"] = lanes([](u32 a, u32 b, u16 c) -> u32 { return u32((u64{a} << 32 | b) >> (c & 31)); });
  t["v_alignbyte_b32"] = lanes([](u32 a, u32 b, u16 c) -> u32 { return u32((u64{a} << 32 | b) >> (c & 3) * 8); });
  t["v_bfe_u32"] = lanes([](u32 a, u32 b, u32 c) -> u32 { return field(a, b, c); });
  t["v_bfe_i32"] = lanes([](u32 a, u32 b, u32 c) -> i32 { return signed_field(a, b, c); });
  t["v_bfm_b32"] = lanes([](u32 a, u32 b) -> u32 { return ((1u << (a & 31)) - 1) << (b & 31); });
}

void add_bits(Table& t) {
  t["v_mov_b32"] = t["v_accvgpr_read_b32"] = t["v_accvgpr_write_b32"] = t["v_accvgpr_mov_b32"] =
      lanes([](u32 a) -> u32 { return a; });
  t["v_mov_b64"] = lanes([](u64 a) -> u64 { return a; });
  t["v_mov_b16"] = lanes([](u16 a) -> u16 { return a; });
  t["v_not_b32"] = lanes([](u32 a) -> u32 { return ~a; });
  t["v_not_b16"] = lanes([](u16 a) -> u16 { return u16(~a); });
  t["v_and_b32"] = lanes([](u32 a, u32 b) -> u32 { return a & b; });
  t["v_or_b32"] = lanes([](u32 a, u32 b) -> u32 { return a | b; });
  t["v_xor_b32"] = lanes([](u32 a, u32 b) -> u32 { return a ^ b; });
  t["v_xnor_b32"] = lanes([](u32 a, u32 b) -> u32 { return ~(a ^ b); });
  t["v_and_b16"] = lanes([](u16 a, u16 b) -> u16 { return a & b; });
  t["v_or_b16"] = lanes([](u16 a, u16 b) -> u16 { return a | b; });
  t["v_xor_b16"] = lanes([](u16 a, u16 b) -> u16 { return a ^ b; });
  t["v_and_or_b32"] = lanes([](u32 a, u32 b, u32 c) -> u32 { return (a & b) | c; });
  t["v_or3_b32"] = lanes([](u32 a, u32 b, u32 c) -> u32 { return a | b | c; });
  t["v_xor3_b32"] = lanes([](u32 a, u32 b, u32 c) -> u32 { return a ^ b ^ c; });
  t["v_bfi_b32"] = lanes([](u32 a, u32 b, u32 c) -> u32 { return (a & b) | (~a & c); });
  t["v_bfrev_b32"] = lanes([](u32 a) -> u32 { return reversed(a); });
  t["v_bcnt_u32_b32"] = lanes([](u32 a, u32 b) -> u32 { return u32(__builtin_popcount(a)) + b; });
  t["v_clz_i32_u32"] = t["v_ffbh_u32"] = lanes([](u32 a) -> i32 { return a ? __builtin_clz(a) : -1; });
  t["v_ctz_i32_b32"] = t["v_ffbl_b32"] = lanes([](u32 a) -> i32 { return a ? __builtin_ctz(a) : -1; });
  t["v_cls_i32"] = t["v_ffbh_i32"] = lanes([](i32 a) -> i32 {
    return a == 0 || a == -1 ? -1 : __builtin_clz(u32(a < 0 ? ~a : a));
  });
  t["v_perm_b32"] = lanes([](u32 a, u32 b, u32 c) -> u32 { return permuted(a, b, c); });
  t["v_cvt_u32_u16"] = lanes([](u16 a) -> u32 { return a; });
  t["v_cvt_i32_i16"] = lanes([](i16 a) -> i32 { return a; });
  t["v_sat_pk_u8_i16"] = lanes([](u32 a) -> u16 {
    return u16(std::clamp<int>(i16(a), 0, 255) | std::clamp<int>(i16(a >> 16), 0, 255) << 8);
  });
  t["v_pack_b32_f16"] = lanes([](u16 a, u16 b) -> u32 { return u32{a} | u32{b} << 16; });
}

template <class T>
void add_order(Table& t, const std::string& suffix) {
  t["v_min_" + suffix] = lanes([](T a, T b) -> T { return std::min(a, b); });
  t["v_max_" + suffix] = lanes([](T a, T b) -> T { return std::max(a, b); });
  t["v_min3_" + suffix] = lanes([](T a, T b, T c) -> T { return std::min(std::min(a, b), c); });
  t["v_max3_" + suffix] = lanes([](T a, T b, T c) -> T { return std::max(std::max(a, b), c); });
  t["v_minmax_" + suffix] = lanes([](T a, T b, T c) -> T { return std::max(std::min(a, b), c); });
  t["v_maxmin_" + suffix] = lanes([](T a, T b, T c) -> T { return std::min(std::max(a, b), c); });
  t["v_med3_" + suffix] = lanes([](T a, T b, T c) -> T {
    return std::max(std::min(a, b), std::min(std::max(a, b), c));
  });
}

}  // namespace

void add_vector_integer(Table& t) {
  add_sums(t), add_products(t), add_shifts(t), add_bits(t);
  add_order<u32>(t, "u32"), add_order<i32>(t, "i32"), add_order<u16>(t, "u16"), add_order<i16>(t, "i16");
  t["v_cndmask_b32"] = {select<u32>};
  t["v_cndmask_b16"] = {select<u16>};
  t["v_swap_b32"] = {swap_rows};
}

}  // namespace isa
