// Loads, stores and atomics of global memory, LDS and scratch; every access is checked.
#include <algorithm>

#include "values.h"

namespace isa {
namespace {

enum class Space : u8 { global, flat, scratch, lds };
enum class Does : u8 { load, store, atomic };
enum class Update : u8 { add, sub, rsub, swap, cmpswap, smin, umin, smax, umax, and_, or_, xor_, inc, dec,
                         add_f32, min_f32, max_f32, add_f64, min_f64, max_f64, pk_add_f16, pk_add_bf16 };

struct Access {
  Space space;
  Does does;
  u8 bytes;
  bool is_signed = false;
  u8 half = 0;  // 1: into the low half of a register, 2: into or from the high half
  Update update = Update::add;
  bool is_returning = false;
  bool is_pair = false;
  int stride = 1;  // of the two offsets of a pair, in elements
};
std::vector<Access>& accesses() { static std::vector<Access> all; return all; }

std::string hex(u64 v) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(v));
  return text;
}

char* lds_at(Wave& w, u64 address, u32 bytes, const Instruction& i) {
  auto& lds = w.group->lds;
  if (address + bytes > lds.size())
    throw Fault{"out-of-bounds", std::to_string(bytes) + " bytes at " + hex(address) + " of " +
                                     std::to_string(lds.size()) + " bytes of LDS: " + i.text};
  return lds.data() + address;
}

char* scratch_at(Wave& w, int lane, u64 address, u32 bytes, const Instruction& i) {
  if (address + bytes > w.scratch_bytes)
    throw Fault{"out-of-bounds", std::to_string(bytes) + " bytes at " + hex(address) + " of " +
                                     std::to_string(w.scratch_bytes) + " bytes of scratch: " + i.text};
  return w.scratch.data() + std::size_t(lane) * w.scratch_bytes + address;
}

char* flat_at(Wave& w, int lane, u64 address, u32 bytes, const Instruction& i) {
  const u64 aperture = address & ~u64{0xffffffff};
  if (aperture == SHARED_APERTURE) return lds_at(w, u32(address), bytes, i);
  if (aperture == PRIVATE_APERTURE) return scratch_at(w, lane, u32(address), bytes, i);
  return memory_at(w, address, bytes, i);
}

struct Address {  // the operands that say where an access goes
  const Operand *vector = nullptr, *scalar = nullptr;
};

char* host_at(Wave& w, const Access& a, const Address& p, int lane, int offset, const Instruction& i) {
  const u32 bytes = a.bytes;
  if (a.space == Space::lds) return lds_at(w, w.row(p.vector->reg)[lane] + u32(offset), bytes, i);  // of 32 bits
  const bool has_vector = p.vector && p.vector->kind == Kind::vector;
  if (a.space == Space::scratch) {
    u32 at = u32(offset);
    if (has_vector) at += w.row(p.vector->reg)[lane];
    if (p.scalar && p.scalar->kind == Kind::scalar) at += w.s[p.scalar->reg];
    return scratch_at(w, lane, at, bytes, i);
  }
  const bool has_scalar = p.scalar && p.scalar->kind == Kind::scalar;
  u64 at = has_scalar ? scalar<u64>(w, *p.scalar) + w.row(p.vector->reg)[lane]
                      : u64{w.row(p.vector->reg)[lane]} | u64{w.row(p.vector->reg + 1)[lane]} << 32;
  at += u64(i64(offset));
  return a.space == Space::flat ? flat_at(w, lane, at, bytes, i) : memory_at(w, at, bytes, i);
}

void issue(Wave& w, const Access& a) {  // counts an access without a result
  const int c = int(a.space == Space::lds ? Counter::lds : Counter::vector_memory);
  if (a.does == Does::store && a.space != Space::lds && w.launch->object->generation >= 10) return;
  ++w.issued[c];
}

void mark(Wave& w, const Access& a, const Operand& o, u32 words) {
  if (a.space != Space::lds) mark_vectors(w, o, Counter::vector_memory, words);
  if (a.space == Space::lds || a.space == Space::flat) mark_vectors(w, o, Counter::lds, words);
}

void put_loaded(Wave& w, const Access& a, int reg, int lane, const char* from) {
  u32* low = w.row(reg) + lane;
  if (a.bytes >= 4) {
    for (int word = 0; word < a.bytes / 4; ++word)
      std::memcpy(w.row(reg + word) + lane, from + 4 * word, 4);
    return;
  }
  u32 value = 0;
  std::memcpy(&value, from, a.bytes);
  if (a.is_signed) value = u32(a.bytes == 1 ? i32(i8(value)) : i32(i16(value)));
  if (a.half == 1) *low = (*low & 0xffff0000u) | (value & 0xffff);
  else if (a.half == 2) *low = (*low & 0xffff) | value << 16;
  else *low = value;
}

void load(Wave& w, const Instruction& i) {
  const Access& a = accesses()[i.op.form];
  const u64 exec = w.exec();
  const Address place{&i.at[1], i.at.size() > 2 ? &i.at[2] : nullptr};
  const int words = std::max(a.bytes / 4, 1);
  std::vector<char> taken(std::size_t(LANES) * a.bytes * 2);  // addresses may be in the target
  const int n = a.is_pair ? 2 : 1;
  for (int l = 0; l < w.width; ++l)
    for (int k = 0; k < n && exec >> l & 1; ++k) {
      const int offset = a.is_pair ? (k ? i.offset1 : i.offset) * a.bytes * a.stride : i.offset;
      std::memcpy(&taken[(l * 2 + k) * a.bytes], host_at(w, a, place, l, offset, i), a.bytes);
    }
  for (int l = 0; l < w.width; ++l)
    for (int k = 0; k < n && exec >> l & 1; ++k)
      put_loaded(w, a, i.at[0].reg + k * words, l, &taken[(l * 2 + k) * a.bytes]);
  mark(w, a, i.at[0], u32(words * n));
}

void get_stored(Wave& w, const Access& a, const Operand& o, int lane, char* to) {
  if (a.bytes >= 4) {
    for (int word = 0; word < a.bytes / 4; ++word) std::memcpy(to + 4 * word, w.row(o.reg + word) + lane, 4);
  } else {
    const u32 value = w.row(o.reg)[lane] >> (a.half == 2 || o.half == 2 ? 16 : 0);
    std::memcpy(to, &value, a.bytes);
  }
}

void store_lanes(Wave& w, const Instruction& i) {
  const Access& a = accesses()[i.op.form];
  const u64 exec = w.exec();
  const std::size_t at_scalar = a.is_pair ? 3 : 2;
  const Address place{&i.at[0], i.at.size() > at_scalar ? &i.at[at_scalar] : nullptr};
  for (int l = 0; l < w.width; ++l)
    for (int k = 0; k < (a.is_pair ? 2 : 1) && exec >> l & 1; ++k) {
      const int offset = a.is_pair ? (k ? i.offset1 : i.offset) * a.bytes * a.stride : i.offset;
      get_stored(w, a, i.at[1 + k], l, host_at(w, a, place, l, offset, i));
    }
  issue(w, a);
}

f32 least(f32 a, f32 b) { return std::fmin(a, b); }

template <class T>
T updated_integer(Update update, T old, T value, T expected) {
  using S = std::make_signed_t<T>;
  switch (update) {
    case Update::add: return old + value;
    case Update::sub: return old - value;
    case Update::rsub: return value - old;
    case Update::swap: return value;
    case Update::cmpswap: return old == expected ? value : old;
    case Update::smin: return T(std::min(S(old), S(value)));
    case Update::smax: return T(std::max(S(old), S(value)));
    case Update::umin: return std::min(old, value);
    case Update::umax: return std::max(old, value);
    case Update::and_: return old & value;
    case Update::or_: return old | value;
    case Update::xor_: return old ^ value;
    case Update::inc: return old >= value ? 0 : old + 1;
    case Update::dec: return old == 0 || old > value ? value : old - 1;
    default: return old;
  }
}

u32 updated_pair(Update update, u32 old, u32 value) {
  u32 r = 0;
  for (int k = 0; k < 32; k += 16) {
    if (update == Update::pk_add_f16) {
      r |= u32(bits_as<u16>(f16(bits_as<f16>(u16(old >> k)) + bits_as<f16>(u16(value >> k))))) << k;
    } else {
      const u32 sum = bits_as<u32>(bits_as<f32>((old >> k) << 16) + bits_as<f32>((value >> k) << 16));
      r |= (sum + 0x7fff + (sum >> 16 & 1)) >> 16 << k;
    }
  }
  return r;
}

void update_at(Update update, u32 bytes, char* at, u64 value, u64 expected) {
  if (bytes == 8) {
    u64 old;
    std::memcpy(&old, at, 8);
    const f64 a = bits_as<f64>(old), b = bits_as<f64>(value);
    u64 made = updated_integer<u64>(update, old, value, expected);
    if (update == Update::add_f64) made = bits_as<u64>(a + b);
    if (update == Update::min_f64) made = bits_as<u64>(std::fmin(a, b));
    if (update == Update::max_f64) made = bits_as<u64>(std::fmax(a, b));
    std::memcpy(at, &made, 8);
    return;
  }
  u32 old;
  std::memcpy(&old, at, 4);
  const f32 a = bits_as<f32>(old), b = bits_as<f32>(u32(value));
  u32 made = updated_integer<u32>(update, old, u32(value), u32(expected));
  if (update == Update::add_f32) made = bits_as<u32>(a + b);
  if (update == Update::min_f32) made = bits_as<u32>(least(a, b));
  if (update == Update::max_f32) made = bits_as<u32>(std::fmax(a, b));
  if (update >= Update::pk_add_f16) made = updated_pair(update, old, u32(value));
  std::memcpy(at, &made, 4);
}

u64 words_of(Wave& w, int reg, int lane, u32 bytes) {
  return w.row(reg)[lane] | (bytes == 8 ? u64{w.row(reg + 1)[lane]} << 32 : 0);
}

// Atomics: [target,] address, data [, second data of LDS] [, scalar base].
void atomic(Wave& w, const Instruction& i) {
  const Access& a = accesses()[i.op.form];
  const u64 exec = w.exec();
  const bool is_exchange = a.update == Update::cmpswap, is_lds = a.space == Space::lds;
  const std::size_t least_n = is_lds ? (is_exchange ? 3 : 2) : a.space == Space::flat ? 2 : 3;
  const bool returns = i.at.size() > least_n;
  const int k = returns ? 1 : 0;
  const Address place{&i.at[k], !is_lds && a.space != Space::flat ? &i.at[k + 2] : nullptr};
  const int data = i.at[k + 1].reg, words = a.bytes / 4;
  // LDS names what it compares with in an operand of its own: the second in RDNA3, the first before.
  const bool is_new = w.launch->object->generation >= 11;
  for (int l = 0; l < w.width; ++l) {
    if (!(exec >> l & 1)) continue;
    u64 value = words_of(w, data, l, a.bytes), expected = 0;
    if (is_exchange && is_lds) {
      expected = words_of(w, i.at[k + 2].reg, l, a.bytes);
      if (!is_new) std::swap(value, expected);
    } else if (is_exchange) {
      expected = words_of(w, data + words, l, a.bytes);
    }
    char* at = host_at(w, a, place, l, i.offset, i);
    u64 old = 0;
    std::memcpy(&old, at, a.bytes);
    update_at(a.update, a.bytes, at, value, expected);
    if (!returns) continue;
    w.row(i.at[0].reg)[l] = u32(old);
    if (words == 2) w.row(i.at[0].reg + 1)[l] = u32(old >> 32);
  }
  if (returns) mark(w, a, i.at[0], u32(words));
  else if (is_lds || w.launch->object->generation < 10) issue(w, a);
}

void scalar_load(Wave& w, const Instruction& i) {  // target, base, offset
  u64 address = scalar<u64>(w, i.at[1]) & ~u64{3};
  if (i.at.size() > 2 && i.at[2].kind != Kind::none && i.at[2].reg != NOWHERE)
    address += i.at[2].kind == Kind::scalar ? u64{w.s[i.at[2].reg]} : u64(i64(i32(i.at[2].bits)));
  address += u64(i64(i.offset));
  const char* from = memory_at(w, address, u32(i.op.form) * 4, i);
  std::memcpy(&w.s[i.at[0].reg], from, std::size_t(i.op.form) * 4);
  mark_scalars(w, i.at[0]);
}

void enter(Table& t, const std::string& name, const Access& a) {
  const Handler run = a.does == Does::load ? load : a.does == Does::store ? store_lanes : atomic;
  const bool is_load = a.does == Does::load;
  t[name] = {run, int(accesses().size()), false, 0,
             i8(is_load ? int(a.space == Space::lds ? Counter::lds : Counter::vector_memory) : -1)};
  accesses().push_back(a);
}

struct Size { const char *now, *before; u8 bytes; bool is_signed; u8 half; };
constexpr Size LOADED[] = {
    {"b32", "dword", 4, false, 0}, {"b64", "dwordx2", 8, false, 0}, {"b96", "dwordx3", 12, false, 0},
    {"b128", "dwordx4", 16, false, 0}, {"u8", "ubyte", 1, false, 0}, {"i8", "sbyte", 1, true, 0},
    {"u16", "ushort", 2, false, 0}, {"i16", "sshort", 2, true, 0}, {"d16_u8", "ubyte_d16", 1, false, 1},
    {"d16_i8", "sbyte_d16", 1, true, 1}, {"d16_b16", "short_d16", 2, false, 1},
    {"d16_hi_u8", "ubyte_d16_hi", 1, false, 2}, {"d16_hi_i8", "sbyte_d16_hi", 1, true, 2},
    {"d16_hi_b16", "short_d16_hi", 2, false, 2}};
constexpr Size STORED[] = {
    {"b32", "dword", 4, false, 0}, {"b64", "dwordx2", 8, false, 0}, {"b96", "dwordx3", 12, false, 0},
    {"b128", "dwordx4", 16, false, 0}, {"b8", "byte", 1, false, 0}, {"b16", "short", 2, false, 0},
    {"d16_hi_b8", "byte_d16_hi", 1, false, 2}, {"d16_hi_b16", "short_d16_hi", 2, false, 2}};

void add_loads(Table& t) {
  const std::pair<const char*, Space> spaces[] = {{"global_", Space::global}, {"flat_", Space::flat}, {"scratch_", Space::scratch}};
  for (const auto& [prefix, space] : spaces) {
    for (const Size& s : LOADED)
      for (const char* name : {s.now, s.before}) enter(t, std::string(prefix) + "load_" + name, {space, Does::load, s.bytes, s.is_signed, s.half});
    for (const Size& s : STORED)
      for (const char* name : {s.now, s.before}) enter(t, std::string(prefix) + "store_" + name, {space, Does::store, s.bytes, false, s.half});
  }
  const std::pair<const char*, const char*> lds[] = {{"b32", "b32"}, {"b64", "b64"}, {"b96", "b96"}, {"b128", "b128"},
      {"u8", "u8"}, {"i8", "i8"}, {"u16", "u16"}, {"i16", "i16"}, {"u8_d16", "d16_u8"}, {"i8_d16", "d16_i8"},
      {"u16_d16", "d16_b16"}, {"u8_d16_hi", "d16_hi_u8"}, {"i8_d16_hi", "d16_hi_i8"}, {"u16_d16_hi", "d16_hi_b16"}};
  for (const auto& [name, like] : lds)
    for (const Size& s : LOADED)
      if (std::string(s.now) == like)
        for (const char* verb : {"ds_load_", "ds_read_"}) enter(t, std::string(verb) + name, {Space::lds, Does::load, s.bytes, s.is_signed, s.half});
  const std::pair<const char*, const char*> stored[] = {{"b32", "b32"}, {"b64", "b64"}, {"b96", "b96"}, {"b128", "b128"},
      {"b8", "b8"}, {"b16", "b16"}, {"b8_d16_hi", "d16_hi_b8"}, {"b16_d16_hi", "d16_hi_b16"}};
  for (const auto& [name, like] : stored)
    for (const Size& s : STORED)
      if (std::string(s.now) == like)
        for (const char* verb : {"ds_store_", "ds_write_"}) enter(t, std::string(verb) + name, {Space::lds, Does::store, s.bytes, false, s.half});
  for (const auto& [suffix, bytes] : {std::pair{"b32", u8(4)}, std::pair{"b64", u8(8)}})
    for (const int stride : {1, 64}) {
      const std::string of = std::string(stride == 1 ? "2addr_" : "2addr_stride64_") + suffix;
      const std::string before = std::string(stride == 1 ? "2_" : "2st64_") + suffix;
      const Access in{Space::lds, Does::load, bytes, false, 0, Update::add, false, true, stride};
      const Access out{Space::lds, Does::store, bytes, false, 0, Update::add, false, true, stride};
      enter(t, "ds_load_" + of, in), enter(t, "ds_read" + before, in);
      enter(t, "ds_store_" + of, out), enter(t, "ds_write" + before, out);
    }
}

struct Name { const char* name; Update update; u8 bytes; };
constexpr Name MEMORY_ATOMICS[] = {
    {"swap_b32", Update::swap, 4}, {"cmpswap_b32", Update::cmpswap, 4}, {"add_u32", Update::add, 4}, {"sub_u32", Update::sub, 4},
    {"min_i32", Update::smin, 4}, {"min_u32", Update::umin, 4}, {"max_i32", Update::smax, 4}, {"max_u32", Update::umax, 4},
    {"and_b32", Update::and_, 4}, {"or_b32", Update::or_, 4}, {"xor_b32", Update::xor_, 4}, {"inc_u32", Update::inc, 4},
    {"dec_u32", Update::dec, 4}, {"swap_b64", Update::swap, 8}, {"cmpswap_b64", Update::cmpswap, 8}, {"add_u64", Update::add, 8},
    {"sub_u64", Update::sub, 8}, {"min_i64", Update::smin, 8}, {"min_u64", Update::umin, 8}, {"max_i64", Update::smax, 8},
    {"max_u64", Update::umax, 8}, {"and_b64", Update::and_, 8}, {"or_b64", Update::or_, 8}, {"xor_b64", Update::xor_, 8},
    {"inc_u64", Update::inc, 8}, {"dec_u64", Update::dec, 8}, {"add_f32", Update::add_f32, 4}, {"min_f32", Update::min_f32, 4},
    {"max_f32", Update::max_f32, 4}, {"pk_add_f16", Update::pk_add_f16, 4}, {"pk_add_bf16", Update::pk_add_bf16, 4},
    // names of GCN and CDNA
    {"swap", Update::swap, 4}, {"cmpswap", Update::cmpswap, 4}, {"add", Update::add, 4}, {"sub", Update::sub, 4},
    {"smin", Update::smin, 4}, {"umin", Update::umin, 4}, {"smax", Update::smax, 4}, {"umax", Update::umax, 4},
    {"and", Update::and_, 4}, {"or", Update::or_, 4}, {"xor", Update::xor_, 4}, {"inc", Update::inc, 4}, {"dec", Update::dec, 4},
    {"swap_x2", Update::swap, 8}, {"cmpswap_x2", Update::cmpswap, 8}, {"add_x2", Update::add, 8}, {"sub_x2", Update::sub, 8},
    {"smin_x2", Update::smin, 8}, {"umin_x2", Update::umin, 8}, {"smax_x2", Update::smax, 8}, {"umax_x2", Update::umax, 8},
    {"and_x2", Update::and_, 8}, {"or_x2", Update::or_, 8}, {"xor_x2", Update::xor_, 8}, {"inc_x2", Update::inc, 8},
    {"dec_x2", Update::dec, 8}, {"add_f64", Update::add_f64, 8}, {"min_f64", Update::min_f64, 8}, {"max_f64", Update::max_f64, 8}};
constexpr Name LDS_ATOMICS[] = {
    {"add_u32", Update::add, 4}, {"sub_u32", Update::sub, 4}, {"rsub_u32", Update::rsub, 4}, {"inc_u32", Update::inc, 4},
    {"dec_u32", Update::dec, 4}, {"min_i32", Update::smin, 4}, {"max_i32", Update::smax, 4}, {"min_u32", Update::umin, 4},
    {"max_u32", Update::umax, 4}, {"and_b32", Update::and_, 4}, {"or_b32", Update::or_, 4}, {"xor_b32", Update::xor_, 4},
    {"min_f32", Update::min_f32, 4}, {"max_f32", Update::max_f32, 4}, {"add_f32", Update::add_f32, 4},
    {"cmpstore_b32", Update::cmpswap, 4}, {"cmpst_b32", Update::cmpswap, 4}, {"add_u64", Update::add, 8},
    {"sub_u64", Update::sub, 8}, {"min_i64", Update::smin, 8}, {"max_i64", Update::smax, 8}, {"min_u64", Update::umin, 8},
    {"max_u64", Update::umax, 8}, {"and_b64", Update::and_, 8}, {"or_b64", Update::or_, 8}, {"xor_b64", Update::xor_, 8},
    {"add_f64", Update::add_f64, 8}, {"cmpstore_b64", Update::cmpswap, 8}, {"cmpst_b64", Update::cmpswap, 8}};

void add_atomics(Table& t) {
  for (const Name& n : MEMORY_ATOMICS) {
    enter(t, std::string("global_atomic_") + n.name, {Space::global, Does::atomic, n.bytes, false, 0, n.update});
    enter(t, std::string("flat_atomic_") + n.name, {Space::flat, Does::atomic, n.bytes, false, 0, n.update});
  }
  for (const Name& n : LDS_ATOMICS) {
    const std::string name = n.name;
    const auto line = name.rfind('_');
    const std::string returning = name.substr(0, line) + "_rtn" + name.substr(line);
    const std::string verb_first = "ds_" + name.substr(0, name.find('_')) + "_rtn" + name.substr(name.find('_'));
    for (const std::string& full : {"ds_" + name, "ds_" + returning, verb_first})
      enter(t, full, {Space::lds, Does::atomic, n.bytes, false, 0, n.update});
  }
  for (const auto& [suffix, bytes] : {std::pair{"b32", u8(4)}, std::pair{"b64", u8(8)}})
    for (const char* verb : {"ds_storexchg_rtn_", "ds_wrxchg_rtn_"})
      enter(t, std::string(verb) + suffix, {Space::lds, Does::atomic, bytes, false, 0, Update::swap});
}

}  // namespace

void add_memory(Table& t) {
  accesses().reserve(600);
  add_loads(t), add_atomics(t);
  const std::pair<const char*, int> sizes[] = {{"b32", 1}, {"b64", 2}, {"b96", 3}, {"b128", 4}, {"b256", 8}, {"b512", 16},
      {"dword", 1}, {"dwordx2", 2}, {"dwordx4", 4}, {"dwordx8", 8}, {"dwordx16", 16}};
  for (const auto& [name, words] : sizes) t[std::string("s_load_") + name] = {scalar_load, words};
}

}  // namespace isa
