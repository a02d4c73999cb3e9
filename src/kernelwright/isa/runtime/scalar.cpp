// Operations of the scalar unit. Most leave in SCC whether the result is not zero, or a carry.
#include <algorithm>

#include "values.h"

namespace isa {
namespace {

template <class F, class D, class A>
Operation one(F, Signature<D, A>, bool sets_scc) {
  Handler plain = [](Wave& w, const Instruction& i) { set_scalar(w, i.at[0], F{}(scalar<A>(w, i.at[1]))); };
  Handler noting = [](Wave& w, const Instruction& i) {
    const D r = F{}(scalar<A>(w, i.at[1]));
    set_scalar(w, i.at[0], r);
    w.s[SCC] = r != 0;
  };
  return {sets_scc ? noting : plain};
}
template <class F> Operation unary(F f, bool sets_scc) { return one(f, decltype(signature(&F::operator())){}, sets_scc); }

template <class F, class D, class A, class B>
Operation two(F, Signature<D, A, B>, bool sets_scc) {
  Handler plain = [](Wave& w, const Instruction& i) {
    set_scalar(w, i.at[0], F{}(scalar<A>(w, i.at[1]), scalar<B>(w, i.at[2])));
  };
  Handler noting = [](Wave& w, const Instruction& i) {
    const D r = F{}(scalar<A>(w, i.at[1]), scalar<B>(w, i.at[2]));
    set_scalar(w, i.at[0], r);
    w.s[SCC] = r != 0;
  };
  return {sets_scc ? noting : plain};
}
template <class F> Operation binary(F f, bool sets_scc) { return two(f, decltype(signature(&F::operator())){}, sets_scc); }

// f returns the result and puts SCC into its last argument, which holds the old one.
template <class F>
Operation carrying(F) {
  return {[](Wave& w, const Instruction& i) {
    bool carry = w.s[SCC];
    set_scalar(w, i.at[0], F{}(scalar<u32>(w, i.at[1]), scalar<u32>(w, i.at[2]), carry));
    w.s[SCC] = carry;
  }};
}

template <class T, class F>
Operation test(F) {
  return {[](Wave& w, const Instruction& i) {
    w.s[SCC] = F{}(scalar<T>(w, i.at[0]), scalar<T>(w, i.at[1]));
  }};
}

template <class T>
void add_logic(Table& t, const std::string& b) {
  t["s_and_" + b] = binary([](T x, T y) -> T { return x & y; }, true);
  t["s_or_" + b] = binary([](T x, T y) -> T { return x | y; }, true);
  t["s_xor_" + b] = binary([](T x, T y) -> T { return x ^ y; }, true);
  t["s_nand_" + b] = binary([](T x, T y) -> T { return ~(x & y); }, true);
  t["s_nor_" + b] = binary([](T x, T y) -> T { return ~(x | y); }, true);
  t["s_xnor_" + b] = binary([](T x, T y) -> T { return ~(x ^ y); }, true);
  t["s_and_not1_" + b] = t["s_andn2_" + b] = binary([](T x, T y) -> T { return x & ~y; }, true);
  t["s_or_not1_" + b] = t["s_orn2_" + b] = binary([](T x, T y) -> T { return x | ~y; }, true);
  t["s_not_" + b] = unary([](T x) -> T { return ~x; }, true);
  t["s_mov_" + b] = unary([](T x) -> T { return x; }, false);
  t["s_lshl_" + b] = binary([](T x, u32 y) -> T { return x << (y & (sizeof(T) * 8 - 1)); }, true);
  t["s_lshr_" + b] = binary([](T x, u32 y) -> T { return x >> (y & (sizeof(T) * 8 - 1)); }, true);
  t["s_bfm_" + b] = binary([](u32 x, u32 y) -> T {
    constexpr u32 last = sizeof(T) * 8 - 1;
    return ((T{1} << (x & last)) - 1) << (y & last);
  }, false);
  t["s_brev_" + b] = unary([](T x) -> T {
    return sizeof(T) == 8 ? T(__builtin_bitreverse64(x)) : T(__builtin_bitreverse32(u32(x)));
  }, false);
  t["s_bcnt1_i32_" + b] = unary([](T x) -> u32 { return u32(__builtin_popcountll(x)); }, true);
  t["s_bcnt0_i32_" + b] = unary([](T x) -> u32 { return u32(sizeof(T) * 8 - __builtin_popcountll(x)); }, true);
  t["s_ctz_i32_" + b] = t["s_ff1_i32_" + b] = unary([](T x) -> i32 { return x ? __builtin_ctzll(x) : -1; }, false);
  t["s_wqm_" + b] = unary([](T x) -> T {
    T r = 0;
    for (unsigned q = 0; q < sizeof(T) * 8; q += 4) r |= x >> q & 15 ? T{15} << q : 0;
    return r;
  }, true);
  t["s_cselect_" + b] = {[](Wave& w, const Instruction& i) {
    set_scalar(w, i.at[0], scalar<T>(w, i.at[w.s[SCC] ? 1 : 2]));
  }};
  t["s_cmov_" + b] = {[](Wave& w, const Instruction& i) {
    if (w.s[SCC]) set_scalar(w, i.at[0], scalar<T>(w, i.at[1]));
  }};
  t["s_bitset0_" + b] = {[](Wave& w, const Instruction& i) {
    set_scalar(w, i.at[0], T(scalar<T>(w, i.at[0]) & ~(T{1} << (scalar<u32>(w, i.at[1]) & (sizeof(T) * 8 - 1)))));
  }};
  t["s_bitset1_" + b] = {[](Wave& w, const Instruction& i) {
    set_scalar(w, i.at[0], T(scalar<T>(w, i.at[0]) | T{1} << (scalar<u32>(w, i.at[1]) & (sizeof(T) * 8 - 1))));
  }};
  t["s_bitcmp0_" + b] = {[](Wave& w, const Instruction& i) {
    w.s[SCC] = !(scalar<T>(w, i.at[0]) >> (scalar<u32>(w, i.at[1]) & (sizeof(T) * 8 - 1)) & 1);
  }};
  t["s_bitcmp1_" + b] = {[](Wave& w, const Instruction& i) {
    w.s[SCC] = scalar<T>(w, i.at[0]) >> (scalar<u32>(w, i.at[1]) & (sizeof(T) * 8 - 1)) & 1;
  }};
}

template <class F, class T>
Operation saving(F, T) {  // target = EXEC; EXEC = f(source, EXEC)
  return {[](Wave& w, const Instruction& i) {
    const T old = T(w.exec()), made = F{}(scalar<T>(w, i.at[1]), old);
    set_scalar(w, i.at[0], old);
    w.set_mask(EXEC, made);
    w.s[SCC] = made != 0;
  }};
}
template <class F, class T>
Operation writing(F, T) {  // target = EXEC = f(source, EXEC)
  return {[](Wave& w, const Instruction& i) {
    const T made = F{}(scalar<T>(w, i.at[1]), T(w.exec()));
    set_scalar(w, i.at[0], made);
    w.set_mask(EXEC, made);
    w.s[SCC] = made != 0;
  }};
}

template <class T>
void add_saving(Table& t, const std::string& b) {
  t["s_and_saveexec_" + b] = saving([](T x, T y) -> T { return x & y; }, T{});
  t["s_or_saveexec_" + b] = saving([](T x, T y) -> T { return x | y; }, T{});
  t["s_xor_saveexec_" + b] = saving([](T x, T y) -> T { return x ^ y; }, T{});
  t["s_nand_saveexec_" + b] = saving([](T x, T y) -> T { return ~(x & y); }, T{});
  t["s_nor_saveexec_" + b] = saving([](T x, T y) -> T { return ~(x | y); }, T{});
  t["s_xnor_saveexec_" + b] = saving([](T x, T y) -> T { return ~(x ^ y); }, T{});
  t["s_and_not0_saveexec_" + b] = t["s_andn1_saveexec_" + b] = saving([](T x, T y) -> T { return ~x & y; }, T{});
  t["s_and_not1_saveexec_" + b] = t["s_andn2_saveexec_" + b] = saving([](T x, T y) -> T { return x & ~y; }, T{});
  t["s_or_not0_saveexec_" + b] = t["s_orn1_saveexec_" + b] = saving([](T x, T y) -> T { return ~x | y; }, T{});
  t["s_or_not1_saveexec_" + b] = t["s_orn2_saveexec_" + b] = saving([](T x, T y) -> T { return x | ~y; }, T{});
  t["s_and_not0_wrexec_" + b] = t["s_andn1_wrexec_" + b] = writing([](T x, T y) -> T { return ~x & y; }, T{});
  t["s_and_not1_wrexec_" + b] = t["s_andn2_wrexec_" + b] = writing([](T x, T y) -> T { return x & ~y; }, T{});
}

template <int SHIFT>
Operation shifted_sum() {
  return {[](Wave& w, const Instruction& i) {
    const u64 sum = (u64{scalar<u32>(w, i.at[1])} << SHIFT) + scalar<u32>(w, i.at[2]);
    set_scalar(w, i.at[0], u32(sum));
    w.s[SCC] = sum >> 32 != 0;
  }};
}

void add_sums(Table& t) {
  t["s_add_u32"] = t["s_add_co_u32"] = carrying([](u32 a, u32 b, bool& c) -> u32 { u32 r; c = __builtin_add_overflow(a, b, &r); return r; });
  t["s_sub_u32"] = t["s_sub_co_u32"] = carrying([](u32 a, u32 b, bool& c) -> u32 { c = b > a; return a - b; });
  t["s_addc_u32"] = carrying([](u32 a, u32 b, bool& c) -> u32 { const u64 r = u64{a} + b + c; c = r >> 32; return u32(r); });
  t["s_subb_u32"] = carrying([](u32 a, u32 b, bool& c) -> u32 { const u64 r = u64{a} - b - c; c = r >> 32 & 1; return u32(r); });
  t["s_add_i32"] = t["s_add_co_i32"] = carrying([](u32 a, u32 b, bool& c) -> u32 { i32 r; c = __builtin_add_overflow(i32(a), i32(b), &r); return u32(r); });
  t["s_sub_i32"] = t["s_sub_co_i32"] = carrying([](u32 a, u32 b, bool& c) -> u32 { i32 r; c = __builtin_sub_overflow(i32(a), i32(b), &r); return u32(r); });
  t["s_absdiff_i32"] = carrying([](u32 a, u32 b, bool& c) -> u32 { const u32 r = i32(a) > i32(b) ? a - b : b - a; c = r; return r; });
  t["s_min_u32"] = carrying([](u32 a, u32 b, bool& c) -> u32 { c = a < b; return std::min(a, b); });
  t["s_max_u32"] = carrying([](u32 a, u32 b, bool& c) -> u32 { c = a >= b; return std::max(a, b); });
  t["s_min_i32"] = carrying([](u32 a, u32 b, bool& c) -> u32 { c = i32(a) < i32(b); return c ? a : b; });
  t["s_max_i32"] = carrying([](u32 a, u32 b, bool& c) -> u32 { c = i32(a) >= i32(b); return c ? a : b; });
  t["s_lshl1_add_u32"] = shifted_sum<1>(), t["s_lshl2_add_u32"] = shifted_sum<2>();
  t["s_lshl3_add_u32"] = shifted_sum<3>(), t["s_lshl4_add_u32"] = shifted_sum<4>();
  t["s_mul_i32"] = binary([](u32 a, u32 b) -> u32 { return a * b; }, false);
  t["s_mul_hi_u32"] = binary([](u32 a, u32 b) -> u32 { return u32(u64{a} * b >> 32); }, false);
  t["s_mul_hi_i32"] = binary([](i32 a, i32 b) -> i32 { return i32(i64{a} * b >> 32); }, false);
  t["s_ashr_i32"] = binary([](i32 a, u32 b) -> i32 { return a >> (b & 31); }, true);
  t["s_ashr_i64"] = binary([](i64 a, u32 b) -> i64 { return a >> (b & 63); }, true);
  t["s_abs_i32"] = unary([](u32 a) -> u32 { return i32(a) < 0 ? -a : a; }, true);
  t["s_movk_i32"] = unary([](u32 a) -> i32 { return i16(a); }, false);
  t["s_addk_i32"] = t["s_addk_co_i32"] = {[](Wave& w, const Instruction& i) {
    i32 r;
    w.s[SCC] = __builtin_add_overflow(scalar<i32>(w, i.at[0]), i32(i16(scalar<u32>(w, i.at[1]))), &r);
    set_scalar(w, i.at[0], r);
  }};
  t["s_mulk_i32"] = {[](Wave& w, const Instruction& i) {
    set_scalar(w, i.at[0], u32(scalar<u32>(w, i.at[0]) * u32(i16(scalar<u32>(w, i.at[1])))));
  }};
  t["s_cmovk_i32"] = {[](Wave& w, const Instruction& i) {
    if (w.s[SCC]) set_scalar(w, i.at[0], i32(i16(scalar<u32>(w, i.at[1]))));
  }};
}

template <class T>
void add_tests(Table& t, const std::string& suffix) {
  const auto both = [&](const char* name, Operation whole, Operation) { t[std::string("s_cmp_") + name + "_" + suffix] = whole; };
  const auto short_ = [&](const char* name, bool (*f)(T, T), Handler run) { (void)f; t[std::string("s_cmpk_") + name + "_" + suffix] = {run}; };
#define TEST(name, op)                                                                     \
  both(name, test<T>([](T a, T b) { return a op b; }), {});                                \
  short_(name, nullptr, [](Wave& w, const Instruction& i) {                                \
    const u32 k = scalar<u32>(w, i.at[1]);                                                 \
    w.s[SCC] = scalar<T>(w, i.at[0]) op (std::is_signed_v<T> ? T(i16(k)) : T(u16(k)));     \
  });
  TEST("eq", ==) TEST("lg", !=) TEST("lt", <) TEST("le", <=) TEST("gt", >) TEST("ge", >=)
#undef TEST
}

void add_fields(Table& t) {
  t["s_bfe_u32"] = binary([](u32 a, u32 b) -> u32 {
    const u32 n = std::min(b >> 16 & 127, 32u);
    return u32(u64{a} >> (b & 31) & ((u64{1} << n) - 1));
  }, true);
  t["s_bfe_i32"] = binary([](u32 a, u32 b) -> i32 {
    const u32 at = b & 31, n = std::min(b >> 16 & 127, 32 - at);
    return n ? i32(a << (32 - at - n)) >> (32 - n) : 0;
  }, true);
  t["s_bfe_u64"] = binary([](u64 a, u32 b) -> u64 {
    const u32 n = std::min(b >> 16 & 127, 64u);
    return a >> (b & 63) & (n >= 64 ? ~u64{0} : (u64{1} << n) - 1);
  }, true);
  t["s_bfe_i64"] = binary([](u64 a, u32 b) -> i64 {
    const u32 at = b & 63, n = std::min(b >> 16 & 127, 64 - at);
    return n ? i64(a << (64 - at - n)) >> (64 - n) : 0;
  }, true);
  t["s_clz_i32_u32"] = t["s_flbit_i32_b32"] = unary([](u32 a) -> i32 { return a ? __builtin_clz(a) : -1; }, false);
  t["s_clz_i32_u64"] = t["s_flbit_i32_b64"] = unary([](u64 a) -> i32 { return a ? __builtin_clzll(a) : -1; }, false);
  t["s_cls_i32"] = t["s_flbit_i32"] = unary([](i32 a) -> i32 { return a == 0 || a == -1 ? -1 : __builtin_clz(u32(a < 0 ? ~a : a)); }, false);
  t["s_cls_i32_i64"] = t["s_flbit_i32_i64"] = unary([](i64 a) -> i32 { return a == 0 || a == -1 ? -1 : __builtin_clzll(u64(a < 0 ? ~a : a)); }, false);
  t["s_sext_i32_i8"] = unary([](u32 a) -> i32 { return i8(a); }, false);
  t["s_sext_i32_i16"] = unary([](u32 a) -> i32 { return i16(a); }, false);
  t["s_pack_ll_b32_b16"] = binary([](u32 a, u32 b) -> u32 { return (a & 0xffff) | b << 16; }, false);
  t["s_pack_lh_b32_b16"] = binary([](u32 a, u32 b) -> u32 { return (a & 0xffff) | (b & 0xffff0000u); }, false);
  t["s_pack_hh_b32_b16"] = binary([](u32 a, u32 b) -> u32 { return a >> 16 | (b & 0xffff0000u); }, false);
  t["s_pack_hl_b32_b16"] = binary([](u32 a, u32 b) -> u32 { return a >> 16 | b << 16; }, false);
}

}  // namespace

void add_scalar(Table& t) {
  add_logic<u32>(t, "b32"), add_logic<u64>(t, "b64");
  add_saving<u32>(t, "b32"), add_saving<u64>(t, "b64");
  add_sums(t), add_fields(t);
  add_tests<u32>(t, "u32"), add_tests<i32>(t, "i32");
  t["s_cmp_eq_u64"] = test<u64>([](u64 a, u64 b) { return a == b; });
  t["s_cmp_lg_u64"] = t["s_cmp_ne_u64"] = test<u64>([](u64 a, u64 b) { return a != b; });
}

}  // namespace isa
