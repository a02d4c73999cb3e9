// Reading and writing of operands, typed by lane; the forms that most vector operations have.
#pragma once
#include <cmath>
#include <cstring>
#include <type_traits>

#include "machine.h"

namespace isa {

template <class To, class From>
To bits_as(From value) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &value, sizeof to);
  return to;
}

template <class T> constexpr bool is_float = std::is_same_v<T, f16> || std::is_same_v<T, f32> || std::is_same_v<T, f64>;
template <class T> using Bits = std::conditional_t<sizeof(T) == 8, u64, std::conditional_t<sizeof(T) == 4, u32, u16>>;
template <class T> constexpr Bits<T> TOP = Bits<T>(Bits<T>{1} << (sizeof(T) * 8 - 1));
template <class T> constexpr Bits<T> QUIET = sizeof(T) == 8 ? Bits<T>(0x0008000000000000ull) : sizeof(T) == 4 ? Bits<T>(0x00400000u) : Bits<T>(0x0200u);
template <class T> constexpr Bits<T> INFINITE = sizeof(T) == 8 ? Bits<T>(0x7ff0000000000000ull) : sizeof(T) == 4 ? Bits<T>(0x7f800000u) : Bits<T>(0x7c00u);
template <class T> constexpr Bits<T> SMALLEST = sizeof(T) == 8 ? Bits<T>(0x0010000000000000ull) : sizeof(T) == 4 ? Bits<T>(0x00800000u) : Bits<T>(0x0400u);

template <class T>
bool is_nan(T value) { return Bits<T>(bits_as<Bits<T>>(value) & Bits<T>(~TOP<T>)) > INFINITE<T>; }
template <class T>
T quieted(T value) { return bits_as<T>(Bits<T>(bits_as<Bits<T>>(value) | QUIET<T>)); }
template <class T>
T flushed(T value) {  // a denormal number becomes zero with its sign
  const auto bits = bits_as<Bits<T>>(value);
  return Bits<T>(bits & Bits<T>(~TOP<T>)) < SMALLEST<T> ? bits_as<T>(Bits<T>(bits & TOP<T>)) : value;
}

// A constant of the text as an operand of type T sees it.
template <class T>
T constant(const Operand& o) {
  u64 bits = o.bits;
  if (o.kind == Kind::number) {
    if (sizeof(T) == 8) bits = bits_as<u64>(o.number);
    else if (sizeof(T) == 4) bits = bits_as<u32>(f32(o.number));
    else bits = bits_as<u16>(f16(o.number));
  } else if (o.kind == Kind::literal && std::is_same_v<T, f64> && bits >> 32 == 0) {
    bits <<= 32;
  } else if (o.kind == Kind::literal && std::is_same_v<T, i64> && bits >> 32 == 0) {
    bits = u64(i64(i32(bits)));
  }
  return bits_as<T>(Bits<T>(bits));
}

template <class T>
T modified(T value, const Operand& o) {
  auto bits = bits_as<Bits<T>>(value);
  if (o.is_absolute) bits &= Bits<T>(~TOP<T>);
  if (o.is_negated) bits ^= TOP<T>;
  return bits_as<T>(bits);
}

// The value of a scalar register or constant.
template <class T>
T scalar(const Wave& w, const Operand& o) {
  if (o.kind != Kind::scalar) return modified(constant<T>(o), o);
  if constexpr (sizeof(T) == 8) {
    const u64 high = o.words > 1 ? w.s[o.reg + 1] : 0;
    return modified(bits_as<T>(u64{w.s[o.reg]} | high << 32), o);
  } else {
    return modified(bits_as<T>(Bits<T>(o.half == 2 ? w.s[o.reg] >> 16 : w.s[o.reg])), o);
  }
}

template <class T>
void set_scalar(Wave& w, const Operand& o, T value) {
  if (o.reg == NOWHERE) return;
  if constexpr (sizeof(T) == 8) {
    w.s[o.reg] = u32(bits_as<u64>(value));
    w.s[o.reg + 1] = u32(bits_as<u64>(value) >> 32);
  } else {
    w.s[o.reg] = u32(bits_as<Bits<T>>(value));
  }
}

// Which half of a 32-bit register a 16-bit operand is: named in the text, or by op_sel.
inline bool is_high(const Instruction& i, int k, bool is_target) {
  if (i.at[k].half) return i.at[k].half == 2;
  return i.op_sel >> (is_target ? 3 : k > 0 ? k - 1 : 0) & 1;
}

// The part of a word that SDWA selects, and a word with that part replaced.
inline int part_shift(int select) { return select >= 5 ? (select - 5) * 16 : (select - 1) * 8; }
inline u32 part_mask(int select) { return select >= 5 ? 0xffff : 0xff; }
inline u32 selected(u32 word, int select, bool is_signed) {
  const u32 mask = part_mask(select), part = word >> part_shift(select) & mask;
  return is_signed && part > mask / 2 ? part | ~mask : part;
}
inline u32 replaced(u32 word, u32 part, int select, int unused) {
  const u32 mask = part_mask(select), shift = u32(part_shift(select));
  const u32 rest = unused == 2 ? word : unused == 1 && (part & mask) > mask / 2 ? ~0u << shift : 0;
  return (rest & ~(mask << shift)) | (part & mask) << shift;
}

// Operand k for CHUNK lanes from `first`, as it is in the registers.
template <class T>
void fetch(Wave& w, const Instruction& i, int k, int first, T* out) {
  const Operand& o = i.at[k];
  if (o.kind != Kind::vector) {
    T value;
    if constexpr (sizeof(T) == 2)
      value = o.kind == Kind::scalar && !o.half && is_high(i, k, false)
                  ? modified(bits_as<T>(u16(w.s[o.reg] >> 16)), o) : scalar<T>(w, o);
    else value = scalar<T>(w, o);
    for (int l = 0; l < CHUNK; ++l) out[l] = value;
    return;
  }
  const u32* low = w.row(o.reg) + first;
  if (o.select) {
    for (int l = 0; l < CHUNK; ++l)
      out[l] = modified(bits_as<T>(Bits<T>(selected(low[l], o.select, o.is_sign_extended))), o);
    return;
  }
  if constexpr (sizeof(T) == 8) {
    const u32* high = low + LANES;
    for (int l = 0; l < CHUNK; ++l) out[l] = bits_as<T>(u64{low[l]} | u64{high[l]} << 32);
  } else if constexpr (sizeof(T) == 4) {
    std::memcpy(out, low, CHUNK * sizeof(T));
  } else {
    const int shift = is_high(i, k, false) ? 16 : 0;
    for (int l = 0; l < CHUNK; ++l) out[l] = bits_as<T>(u16(low[l] >> shift));
  }
  if (o.is_absolute || o.is_negated)
    for (int l = 0; l < CHUNK; ++l) out[l] = modified(out[l], o);
}

u64 moved_lanes(Wave&, const Instruction&, u64 exec);  // lanes that DPP lets write

// Operand k as an operation reads it: after lane movement and flushing of denormals.
template <class T>
void source(Wave& w, const Instruction& i, int k, int first_source, int first, T* out) {
  if (i.has_lanes && k == first_source) {
    T whole[LANES];
    for (int at = 0; at < w.width; at += CHUNK) fetch(w, i, k, at, whole + at);
    const u64 exec = w.exec();
    for (int l = 0; l < CHUNK; ++l) {
      const int from = i.lane_from[first + l];
      const bool is_valid = from >= 0 && (i.fetch_inactive || exec >> from & 1);
      out[l] = is_valid ? whole[from] : T{};
    }
  } else {
    fetch(w, i, k, first, out);
  }
  if constexpr (is_float<T>)
    if (sizeof(T) == 4 ? w.flushes32_in() : w.flushes64_in())
      for (int l = 0; l < CHUNK; ++l) out[l] = flushed(out[l]);
}

inline u64 writable(Wave& w, const Instruction& i) {
  const u64 exec = w.exec();
  return i.has_lanes ? moved_lanes(w, i, exec) : exec;
}

template <class T>
void store(Wave& w, const Instruction& i, int k, int first, const T* values, u64 lanes) {
  const Operand& o = i.at[k];
  if (o.kind != Kind::vector) {  // a scalar target of a vector operation has no lanes
    if (o.reg != NOWHERE) gap(i, "a scalar target");
    return;
  }
  u32* low = w.row(o.reg) + first;
  const u32 on = u32(lanes >> first);
  if (i.target_select) {
    for (int l = 0; l < CHUNK; ++l)
      if (on >> l & 1)
        low[l] = replaced(low[l], u32(bits_as<Bits<T>>(values[l])), i.target_select, i.target_unused);
    return;
  }
  if constexpr (sizeof(T) == 8) {
    u32* high = low + LANES;
    for (int l = 0; l < CHUNK; ++l) {
      if (!(on >> l & 1)) continue;
      const u64 bits = bits_as<u64>(values[l]);
      low[l] = u32(bits), high[l] = u32(bits >> 32);
    }
  } else if constexpr (sizeof(T) == 4) {
    if (on == ~0u) { std::memcpy(low, values, CHUNK * sizeof(T)); return; }
    for (int l = 0; l < CHUNK; ++l) low[l] = on >> l & 1 ? bits_as<u32>(values[l]) : low[l];
  } else {
    const bool high = is_high(i, k, true), keeps = w.launch->object->generation >= 10 || high;
    for (int l = 0; l < CHUNK; ++l) {
      if (!(on >> l & 1)) continue;
      const u32 bits = bits_as<u16>(values[l]);
      low[l] = high ? (low[l] & 0xffff) | bits << 16 : (keeps ? low[l] & 0xffff0000u : 0) | bits;
    }
  }
}

template <class T>
void finish_float(const Wave& w, const Instruction& i, T* r) {  // output modifiers
  const T factor = T(i.omod == 1 ? 2.0 : i.omod == 2 ? 4.0 : i.omod == 3 ? 0.5 : 1.0);
  if (i.omod) for (int l = 0; l < CHUNK; ++l) r[l] *= factor;
  if (i.clamp)
    for (int l = 0; l < CHUNK; ++l) r[l] = !(r[l] > T(0)) ? T(0) : r[l] > T(1) ? T(1) : r[l];
  if (sizeof(T) == 4 ? w.flushes32_out() : w.flushes64_out())
    for (int l = 0; l < CHUNK; ++l) r[l] = flushed(r[l]);
}

template <class D, class... S> struct Signature {};
template <class F, class D, class... S> Signature<D, S...> signature(D (F::*)(S...) const);

// A NaN that an operation makes is positive and quiet; one that it gets is passed on, quieted.
template <class T>
T nan_of() { return bits_as<T>(Bits<T>(INFINITE<T> | QUIET<T>)); }
template <class T, class S>
bool takes_nan(T& r, S a) {
  if constexpr (std::is_same_v<T, S>)
    if (is_nan(a)) { r = quieted(a); return true; }
  return false;
}
template <class T, class... S>
T settled(T r, S... a) {
  if constexpr (is_float<T>)
    if (is_nan(r)) (takes_nan(r, a) || ...) || (r = nan_of<T>(), true);
  return r;
}

template <class F, class D, class... S, std::size_t... K>
void each_lane(Wave& w, const Instruction& i, Signature<D, S...>, std::index_sequence<K...>) {
  const u64 lanes = writable(w, i);
  if (i.at.size() < sizeof...(S) + 1) gap(i, "operands are missing");
  for (int first = 0; first < w.width; first += CHUNK) {
    std::tuple<S[CHUNK]...> in;
    (source(w, i, int(K) + 1, 1, first, std::get<K>(in)), ...);
    D r[CHUNK];
    for (int l = 0; l < CHUNK; ++l) r[l] = F{}(std::get<K>(in)[l]...);
    if constexpr (is_float<D>) {
      for (int l = 0; l < CHUNK; ++l) r[l] = settled(r[l], std::get<K>(in)[l]...);
      finish_float(w, i, r);
    }
    store(w, i, 0, first, r, lanes);
  }
}

template <class F, class D, class... S>
Operation of_lanes(Signature<D, S...>) {
  constexpr bool rounds = is_float<D> || (is_float<S> || ...);
  return {[](Wave& w, const Instruction& i) {
            each_lane<F>(w, i, Signature<D, S...>{}, std::index_sequence_for<S...>{});
          }, 0, is_float<D>, u8(rounds ? (sizeof(D) == 4 ? 32 : 64) : 0)};
}

// An operation of which every lane's result is f(sources); the types of f say what it reads.
template <class F>
Operation lanes(F) { return of_lanes<F>(decltype(signature(&F::operator())){}); }

}  // namespace isa
