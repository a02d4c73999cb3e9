// Matrix products of a wave: WMMA of RDNA3, and MFMA of CDNA where one block is computed.
// Sums are taken in order, each step rounded; hardware's order is not documented.
#include <algorithm>

#include "values.h"

namespace isa {
namespace {

enum class Type : u8 { f16, bf16, i8, i4, f32, f64 };
struct Shape { int n, k; Type in, out; };  // n x n results, each a sum of k products
std::vector<Shape>& shapes() { static std::vector<Shape> all; return all; }

int bits_of(Type t) { return t == Type::f64 ? 64 : t == Type::f32 ? 32 : t == Type::i8 ? 8 : t == Type::i4 ? 4 : 16; }

// Element `at` of the packed elements that a lane holds from register `reg` on.
f64 element(Wave& w, const Operand& o, int lane, int at, Type type, bool is_signed) {
  const int bits = bits_of(type), first = at * bits;
  const u32 word = w.row(o.reg + first / 32)[lane] >> first % 32;
  switch (type) {
    case Type::f64: return bits_as<f64>(u64{w.row(o.reg + 2 * at)[lane]} | u64{w.row(o.reg + 2 * at + 1)[lane]} << 32);
    case Type::f32: return bits_as<f32>(word);
    case Type::f16: return f32(bits_as<f16>(u16(word)));
    case Type::bf16: return bits_as<f32>(word << 16);
    case Type::i8: return is_signed ? i8(word) : u8(word);
    default: return is_signed ? i32(word << 28) >> 28 : i32(word & 15);
  }
}

struct Tile { std::vector<f64> v; int columns; f64& at(int r, int c) { return v[std::size_t(r * columns + c)]; } };

void multiply(Tile& a, Tile& b, Tile& c, const Shape& s) {
  for (int m = 0; m < s.n; ++m)
    for (int n = 0; n < s.n; ++n) {
      f64 sum = c.at(m, n);
      for (int k = 0; k < s.k; ++k) {
        const bool is_double = s.out == Type::f64 || s.out == Type::i8;
        sum = is_double ? std::fma(a.at(m, k), b.at(n, k), sum) : f64(std::fma(f32(a.at(m, k)), f32(b.at(n, k)), f32(sum)));
      }
      c.at(m, n) = sum;
    }
}

// Where a wave of WMMA keeps row and column of a result: register r of lane l.
int wmma_row(int r, int lane, int width) { return r * (width / 16) + lane / 16; }

void wmma(Wave& w, const Instruction& i) {  // target, a, b, c
  const Shape s = shapes()[i.op.form];
  Tile a{std::vector<f64>(256), 16}, b = a, c = a;
  for (int l = 0; l < 16; ++l)
    for (int k = 0; k < 16; ++k) {
      a.at(l, k) = element(w, i.at[1], l, k, s.in, i.neg_lo & 1);
      b.at(l, k) = element(w, i.at[2], l, k, s.in, i.neg_lo & 2);
    }
  const int n_registers = 256 / w.width;
  const bool is_half = s.out == Type::f16 || s.out == Type::bf16, is_integer = s.out == Type::i8;
  const int shift = is_half && i.op_sel & 4 ? 16 : 0;
  for (int r = 0; r < n_registers; ++r)
    for (int l = 0; l < w.width; ++l) {
      f64& to = c.at(wmma_row(r, l, w.width), l % 16);
      if (i.at[3].kind != Kind::vector) { to = is_integer ? scalar<i32>(w, i.at[3]) : scalar<f32>(w, i.at[3]); continue; }
      const u32 word = w.row(i.at[3].reg + r)[l];
      to = is_integer ? f64(i32(word)) : s.out == Type::f32 ? f64(bits_as<f32>(word)) : s.out == Type::f16
               ? f64(f32(bits_as<f16>(u16(word >> shift)))) : f64(bits_as<f32>(word >> shift << 16));
    }
  multiply(a, b, c, s);
  for (int r = 0; r < n_registers; ++r)
    for (int l = 0; l < w.width; ++l) {
      const f64 v = c.at(wmma_row(r, l, w.width), l % 16);
      u32& to = w.row(i.at[0].reg + r)[l];
      if (is_integer) to = i.clamp ? u32(i32(std::clamp(v, -2147483648.0, 2147483647.0))) : u32(i64(v));
      else if (s.out == Type::f32) to = bits_as<u32>(f32(v));
      else if (s.out == Type::f16) to = (to & ~(0xffffu << shift)) | u32(bits_as<u16>(f16(v))) << shift;
      else {
        const u32 bits = bits_as<u32>(f32(v));
        to = (to & ~(0xffffu << shift)) | (bits + 0x7fff + (bits >> 16 & 1)) >> 16 << shift;
      }
    }
}

int mfma_row(const Shape& s, int r, int lane) {
  if (s.out == Type::f64) return 4 * r + lane / 16;
  return s.n == 16 ? 4 * (lane / 16) + r : 8 * (r / 4) + 4 * (lane / 32) + r % 4;
}

void mfma(Wave& w, const Instruction& i) {  // target, a, b, c
  const Shape s = shapes()[i.op.form];
  for (const char* key : {"cbsz", "abid", "blgp"})
    if (i.named.count(key)) gap(i, key);
  Tile a{std::vector<f64>(std::size_t(s.n * s.k)), s.k}, b = a, c{std::vector<f64>(std::size_t(s.n * s.n)), s.n};
  const int each = s.k * s.n / 64;
  for (int l = 0; l < 64; ++l)
    for (int e = 0; e < each; ++e) {
      a.at(l % s.n, l / s.n * each + e) = element(w, i.at[1], l, e, s.in, true);
      b.at(l % s.n, l / s.n * each + e) = element(w, i.at[2], l, e, s.in, true);
    }
  const int n_results = s.n * s.n / 64;
  for (int r = 0; r < n_results; ++r)
    for (int l = 0; l < 64; ++l) {
      f64& to = c.at(mfma_row(s, r, l), l % s.n);
      const Operand& o = i.at[3];
      if (o.kind != Kind::vector) to = s.out == Type::f64 ? scalar<f64>(w, o) : s.out == Type::i8 ? scalar<i32>(w, o) : scalar<f32>(w, o);
      else to = s.out == Type::i8 ? f64(i32(w.row(o.reg + r)[l])) : element(w, o, l, r, s.out, true);
    }
  multiply(a, b, c, s);
  for (int r = 0; r < n_results; ++r)
    for (int l = 0; l < 64; ++l) {
      const f64 v = c.at(mfma_row(s, r, l), l % s.n);
      if (s.out == Type::f64) {
        w.row(i.at[0].reg + 2 * r)[l] = u32(bits_as<u64>(v));
        w.row(i.at[0].reg + 2 * r + 1)[l] = u32(bits_as<u64>(v) >> 32);
      } else {
        w.row(i.at[0].reg + r)[l] = s.out == Type::i8 ? u32(i64(v)) : bits_as<u32>(f32(v));
      }
    }
}

void enter(Table& t, const std::string& name, Handler run, const Shape& s) {
  t[name] = {run, int(shapes().size()), s.out == Type::i8, 32};
  shapes().push_back(s);
}

}  // namespace

void add_matrix(Table& t) {
  enter(t, "v_wmma_f32_16x16x16_f16", wmma, {16, 16, Type::f16, Type::f32});
  enter(t, "v_wmma_f32_16x16x16_bf16", wmma, {16, 16, Type::bf16, Type::f32});
  enter(t, "v_wmma_f16_16x16x16_f16", wmma, {16, 16, Type::f16, Type::f16});
  enter(t, "v_wmma_bf16_16x16x16_bf16", wmma, {16, 16, Type::bf16, Type::bf16});
  enter(t, "v_wmma_i32_16x16x16_iu8", wmma, {16, 16, Type::i8, Type::i8});
  enter(t, "v_wmma_i32_16x16x16_iu4", wmma, {16, 16, Type::i4, Type::i8});
  const struct { const char* end; Type in, out; int k16, k32; } kinds[] = {
      {"f16", Type::f16, Type::f32, 16, 8}, {"bf16_1k", Type::bf16, Type::f32, 16, 8}, {"bf16", Type::bf16, Type::f32, 16, 8},
      {"f32", Type::f32, Type::f32, 4, 2}, {"i8", Type::i8, Type::i8, 32, 16}, {"i8", Type::i8, Type::i8, 16, 8}};
  for (const auto& kind : kinds)
    for (const int n : {16, 32})
      for (const char* line : {"_", ""}) {
        const int k = n == 16 ? kind.k16 : kind.k32;
        const std::string size = std::to_string(n) + "x" + std::to_string(n) + "x" + std::to_string(k);
        enter(t, std::string(kind.out == Type::i8 ? "v_mfma_i32_" : "v_mfma_f32_") + size + line + kind.end, mfma, {n, k, kind.in, kind.out});
      }
  for (const char* name : {"v_mfma_f64_16x16x4_f64", "v_mfma_f64_16x16x4f64"}) enter(t, name, mfma, {16, 4, Type::f64, Type::f64});
}

}  // namespace isa
