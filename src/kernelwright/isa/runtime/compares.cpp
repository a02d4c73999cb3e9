// Vector comparisons, which leave one bit a lane in a mask, in EXEC, or in both.
#include "values.h"

namespace isa {
namespace {

// Which of "less", "equal", "greater" and "unordered" a comparison accepts.
struct Test { const char* name; int accepts; };
constexpr int LESS = 1, EQUAL = 2, GREATER = 4, UNORDERED = 8;
constexpr Test ORDERED[] = {{"f", 0}, {"lt", LESS}, {"eq", EQUAL}, {"le", LESS | EQUAL},
                            {"gt", GREATER}, {"lg", LESS | GREATER}, {"ge", GREATER | EQUAL},
                            {"o", LESS | EQUAL | GREATER}, {"u", UNORDERED},
                            {"nge", LESS | UNORDERED}, {"nlg", EQUAL | UNORDERED},
                            {"ngt", LESS | EQUAL | UNORDERED}, {"nle", GREATER | UNORDERED},
                            {"neq", LESS | GREATER | UNORDERED}, {"nlt", GREATER | EQUAL | UNORDERED},
                            {"tru", 15}, {"t", 15}, {"ne", LESS | GREATER}};
constexpr int TO_EXEC = 16;

void leave(Wave& w, const Instruction& i, u64 result) {
  const bool has_target = i.at.size() > 2;
  if (i.op.form & TO_EXEC) {
    // The older generation writes a mask and EXEC; the newer writes EXEC alone.
    if (has_target && w.launch->object->generation < 10) w.set_mask(i.at[0].reg, result);
    w.set_mask(EXEC, result);
  } else {
    w.set_mask(has_target ? i.at[0].reg : VCC, result);
  }
}

template <class T>
void compare(Wave& w, const Instruction& i) {
  const int n = int(i.at.size()), a_at = n - 2;
  const u64 lanes = writable(w, i);
  u64 result = 0;
  for (int first = 0; first < w.width; first += CHUNK) {
    T a[CHUNK], b[CHUNK];
    source(w, i, a_at, a_at, first, a), source(w, i, a_at + 1, a_at, first, b);
    for (int l = 0; l < CHUNK; ++l) {
      const int is = a[l] < b[l] ? LESS : a[l] == b[l] ? EQUAL : a[l] > b[l] ? GREATER : UNORDERED;
      result |= u64{(i.op.form & is) != 0} << (first + l);
    }
  }
  leave(w, i, result & lanes);
}

template <class T>
int class_of(T v) {
  const auto bits = bits_as<Bits<T>>(v), plain = Bits<T>(bits & Bits<T>(~TOP<T>));
  const bool is_negative = bits & TOP<T>;
  if (plain > INFINITE<T>) return bits & QUIET<T> ? 2 : 1;
  if (plain == INFINITE<T>) return is_negative ? 4 : 0x200;
  if (plain >= SMALLEST<T>) return is_negative ? 8 : 0x100;
  if (plain) return is_negative ? 0x10 : 0x80;
  return is_negative ? 0x20 : 0x40;
}

template <class T>
void compare_class(Wave& w, const Instruction& i) {
  const int a_at = int(i.at.size()) - 2;
  const u64 lanes = writable(w, i);
  u64 result = 0;
  for (int first = 0; first < w.width; first += CHUNK) {
    T a[CHUNK];
    u32 b[CHUNK];
    source(w, i, a_at, a_at, first, a), fetch(w, i, a_at + 1, first, b);
    for (int l = 0; l < CHUNK; ++l) result |= u64{(class_of(a[l]) & b[l]) != 0} << (first + l);
  }
  leave(w, i, result & lanes);
}

template <class T>
void add(Table& t, const std::string& suffix) {
  for (const Test& test : ORDERED) {
    t[std::string("v_cmp_") + test.name + "_" + suffix] = {compare<T>, test.accepts};
    t[std::string("v_cmpx_") + test.name + "_" + suffix] = {compare<T>, test.accepts | TO_EXEC};
  }
  if constexpr (is_float<T>) {
    t["v_cmp_class_" + suffix] = {compare_class<T>, 0};
    t["v_cmpx_class_" + suffix] = {compare_class<T>, TO_EXEC};
  }
}

}  // namespace

void add_compares(Table& t) {
  add<f16>(t, "f16"), add<f32>(t, "f32"), add<f64>(t, "f64");
  add<u16>(t, "u16"), add<u32>(t, "u32"), add<u64>(t, "u64");
  add<i16>(t, "i16"), add<i32>(t, "i32"), add<i64>(t, "i64");
}

}  // namespace isa
