// Functions that the rows of the tables call: registers as numbers, and operations that C has no operator for.
// A lifted kernel is C. Its target's header (amd.h or twin.h) is included before this one.
#pragma once
#pragma STDC FP_CONTRACT OFF

typedef float f32;
typedef double f64;
typedef _Float16 f16;
typedef f16 h2 __attribute__((ext_vector_type(2)));

#define FUNCTION static inline __attribute__((always_inline))
#define BITS(name, to, from) \
  FUNCTION to name(from value) { union { from in; to out; } u = {value}; return u.out; }
BITS(as_f32, f32, u32)
BITS(bits32, u32, f32)
BITS(as_f64, f64, u64)
BITS(bits64, u64, f64)
BITS(as_h2, h2, u32)
BITS(bits_h2, u32, h2)
BITS(bits16, u16, f16)
#undef BITS

FUNCTION u64 join(u32 low, u32 high) { return (u64)high << 32 | low; }
FUNCTION u32 iabs(u32 a) { return (i32)a < 0 ? 0u - a : a; }
FUNCTION f32 fabs32(f32 a) { return as_f32(bits32(a) & 0x7fffffffu); }
FUNCTION f32 fneg32(f32 a) { return as_f32(bits32(a) ^ 0x80000000u); }
FUNCTION f64 fabs64(f64 a) { return as_f64(bits64(a) & ~(1ull << 63)); }
FUNCTION f64 fneg64(f64 a) { return as_f64(bits64(a) ^ 1ull << 63); }
FUNCTION h2 habs2(h2 a) { return as_h2(bits_h2(a) & 0x7fff7fffu); }
FUNCTION u32 half_bits(f16 a) { return a != a ? 0x7fffu : bits16(a); }  // one NaN of all
FUNCTION u32 halves_bits(h2 a) { return half_bits(a[0]) | half_bits(a[1]) << 16; }
FUNCTION u32 low_twice(u32 a) { return (a & 0xffffu) | a << 16; }
FUNCTION u32 high_twice(u32 a) { return a >> 16 | (a & 0xffff0000u); }
FUNCTION u32 swapped(u32 a) { return a >> 16 | a << 16; }

// Each bit of the result is the table's bit at the number that the bits of a, b and c make.
FUNCTION u32 logic3(u32 a, u32 b, u32 c, u32 table) {
  u32 result = 0;
  for (u32 k = 0; k < 8; ++k)
    if (table >> k & 1) result |= (k & 4 ? a : ~a) & (k & 2 ? b : ~b) & (k & 1 ? c : ~c);
  return result;
}

// Four bytes of eight; bit 3 of a pick repeats the sign of its byte.
FUNCTION u32 permuted(u64 bytes, u32 pick) {
  u32 result = 0;
  for (u32 k = 0; k < 4; ++k) {
    const u32 from = pick >> 4 * k & 15;
    const u8 byte = (u8)(bytes >> 8 * (from & 7));
    result |= (u32)(from & 8 ? (byte & 0x80 ? 0xff : 0) : byte) << 8 * k;
  }
  return result;
}

// Numbers below the smallest normal one count as zeros.
FUNCTION f32 flushed(f32 a) { return bits32(a) & 0x7f800000u ? a : as_f32(bits32(a) & 0x80000000u); }
FUNCTION f32 saturated(f32 a) { return a > 0.0f ? (a < 1.0f ? a : 1.0f) : 0.0f; }

// The smaller of two numbers: a number rather than a NaN, and -0 before +0.
#define SMALLER(n, uint)                                                                       \
  FUNCTION f##n smaller##n(f##n a, f##n b) {                                                   \
    if (a != a) return b;                                                                      \
    if (b != b) return a;                                                                      \
    return a < b || (a == b && bits##n(a) >> (n - 1)) ? a : b;                                 \
  }                                                                                            \
  FUNCTION f##n larger##n(f##n a, f##n b) {                                                    \
    if (a != a) return b;                                                                      \
    if (b != b) return a;                                                                      \
    return a > b || (a == b && !(bits##n(a) >> (n - 1))) ? a : b;                              \
  }
SMALLER(32, u32)
SMALLER(64, u64)
#undef SMALLER

// The neighbour of r on the side of the exact value, of which r is the nearest number: `error` has
// the sign of exact - r. Direction -1 is down, 1 up, 0 towards zero.
#define STEPPED(n, uint)                                                                       \
  FUNCTION f##n stepped##n(f##n r, f##n error, int direction) {                                \
    const uint image = bits##n(r);                                                             \
    const bool is_negative = image >> (n - 1) != 0, is_up = error > 0;                         \
    if (direction == 0) direction = is_negative ? 1 : -1;                                      \
    if (r != r || !(error < 0 || error > 0) || (direction > 0) != is_up) return r;             \
    if (r == 0) return as_f##n(is_up ? 1 : (uint)1 << (n - 1) | 1);                            \
    return as_f##n(is_up == is_negative ? image - 1 : image + 1);                              \
  }
STEPPED(32, u32)
STEPPED(64, u64)
#undef STEPPED

// The exact sum high + low as a float, rounded down (-1), up (1) or towards zero (0).
FUNCTION f32 towards(f64 high, f64 low, int direction) {
  const f32 r = (f32)high;
  if (high - high != 0) return r;
  f64 error = high - (f64)r;
  if (r - r != 0) error = r > 0 ? -1.0 : 1.0;  // beyond the largest float
  return stepped32(r, error != 0 ? (error > 0 ? 1.0f : -1.0f) : (f32)(low > 0) - (f32)(low < 0),
                   direction);
}

// The sum of two doubles as a float; the sum's rest is found by Knuth's TwoSum.
FUNCTION f32 sum_towards(f64 a, f64 b, int direction) {
  const f64 s = a + b, v = s - a, rest = (a - (s - v)) + (b - v);
  if (s - s != 0) return (f32)s;
  if (s == 0) return direction < 0 && bits64(a) >> 63 != bits64(b) >> 63 ? -0.0f : (f32)s;
  return towards(s, rest, direction);
}
// Products of two floats are exact in doubles.
FUNCTION f32 fma_towards(f32 a, f32 b, f32 c, int direction) {
  return sum_towards((f64)a * (f64)b, (f64)c, direction);
}
FUNCTION f32 mul_towards(f32 a, f32 b, int direction) {
  return towards((f64)a * (f64)b, 0.0, direction);
}

// The fused sum of doubles. Its error is found from mantissas, so that nothing overflows; an addend
// that is 300 bits below the other counts by its sign alone.
FUNCTION f64 fma64_towards(f64 a, f64 b, f64 c, int direction) {
  const f64 r = __builtin_fma(a, b, c);
  if (a - a != 0 || b - b != 0 || c - c != 0) return r;
  if (r - r != 0) return stepped64(r, r > 0 ? -1.0 : 1.0, direction);
  int i, j, k;
  const f64 x = __builtin_frexp(a, &i), y = __builtin_frexp(b, &j), z = __builtin_frexp(c, &k);
  const bool has_product = x != 0 && y != 0;
  const int most = !has_product ? k : z != 0 && k > i + j ? k : i + j;
  const int of_product = i + j - most > -300 ? i + j - most : -300;
  const int of_sum = k - most > -300 ? k - most : -300;
  const f64 high = x * y, p = __builtin_ldexp(high, of_product);
  const f64 low = __builtin_ldexp(__builtin_fma(x, y, -high), of_product);
  const f64 q = __builtin_ldexp(z, of_sum), s = p + q, v = s - p;
  const f64 error = (s - __builtin_ldexp(r, -most)) + (((p - (s - v)) + (q - v)) + low);
  if (r == 0 && error == 0 && direction < 0 && bits64(high) >> 63 != bits64(c) >> 63) return -0.0;
  return stepped64(r, error, direction);
}
FUNCTION f64 mul64_towards(f64 a, f64 b, int direction) {
  return fma64_towards(a, b, bits64(a) >> 63 != bits64(b) >> 63 ? -0.0 : 0.0, direction);
}
// The halves of an integer are exact in doubles.
FUNCTION f64 u64_as_f64(u64 a, int direction) {
  return fma64_towards((f64)(a >> 32), 0x1p32, (f64)(u32)a, direction);
}
FUNCTION f64 i64_as_f64(i64 a, int direction) {
  return fma64_towards((f64)(a >> 32), 0x1p32, (f64)(u32)a, direction);
}

// Beyond the range a conversion gives the nearest integer; of a NaN what an H200 gives.
#define WHOLE(type, uint, from, least, beyond, nan)                                            \
  FUNCTION type type##_of_##from(from a) {                                                     \
    return a != a ? (type)nan : a <= least ? (type)((uint)1 << (8 * sizeof(type) - 1)) :               \
        a >= beyond ? (type)(((uint)1 << (8 * sizeof(type) - 1)) - 1) : (type)a;               \
  }
#define UNSIGNED(type, from, beyond, nan)                                                      \
  FUNCTION type type##_of_##from(from a) {                                                     \
    return a != a ? nan : !(a > 0) ? 0 : a >= beyond ? ~(type)0 : (type)a;                                    \
  }
WHOLE(i32, u32, f32, -0x1p31f, 0x1p31f, 0)
WHOLE(i32, u32, f64, -0x1p31, 0x1p31, 1u << 31)
WHOLE(i64, u64, f32, -0x1p63f, 0x1p63f, 1ull << 63)
WHOLE(i64, u64, f64, -0x1p63, 0x1p63, 1ull << 63)
UNSIGNED(u32, f32, 0x1p32f, 0)
UNSIGNED(u32, f64, 0x1p32, 1u << 31)
UNSIGNED(u64, f32, 0x1p64f, 1ull << 63)
UNSIGNED(u64, f64, 0x1p64, 1ull << 63)
#undef WHOLE
#undef UNSIGNED
#define i32_of(a) _Generic((a), f32: i32_of_f32, f64: i32_of_f64)(a)
#define u32_of(a) _Generic((a), f32: u32_of_f32, f64: u32_of_f64)(a)
#define i64_of(a) _Generic((a), f32: i64_of_f32, f64: i64_of_f64)(a)
#define u64_of(a) _Generic((a), f32: u64_of_f32, f64: u64_of_f64)(a)

// The halves of an integer are exact in doubles.
FUNCTION f32 u64_towards(u64 a, int direction) {
  return sum_towards((f64)(a >> 32) * 0x1p32, (f64)(u32)a, direction);
}
FUNCTION f32 i64_towards(i64 a, int direction) {
  return sum_towards((f64)(a >> 32) * 0x1p32, (f64)(u32)a, direction);
}

// NaN stays NaN, ties go to even.
FUNCTION u32 bfloat_bits(f32 a) {
  const u32 image = bits32(a);
  return a != a ? 0x7fffu : (image + 0x7fffu + (image >> 16 & 1)) >> 16;
}

FUNCTION f32 of_bf16(u32 a) { return as_f32(a << 16); }
FUNCTION u32 byte_difference(u32 a, u32 b) { return (u8)a < (u8)b ? (u8)b - (u8)a : (u8)a - (u8)b; }

// The fused sum is rounded once: towards zero first, with a last bit that says whether bits are lost.
FUNCTION u32 fma_bf16(u32 a, u32 b, u32 c) {
  u32 result = 0;
  for (u32 k = 0; k < 32; k += 16) {
    const f64 product = (f64)of_bf16(a >> k) * (f64)of_bf16(b >> k), more = (f64)of_bf16(c >> k);
    const f64 sum = product + more, part = sum - product;
    const f64 rest = (product - (sum - part)) + (more - part);
    const f32 down = towards(sum, rest, 0);
    const bool is_exact = sum - sum != 0 || ((f64)down == sum && rest == 0);
    result |= bfloat_bits(as_f32(bits32(down) | !is_exact)) << k;
  }
  return result;
}

// A number in a sign, an exponent and `mantissa` bits; `most` are the bits of the largest one.
FUNCTION u32 eight_bits(f32 a, u32 mantissa, u32 bias, u32 most) {
  const u32 sign = bits32(a) >> 31 << 7, shift = 23 - mantissa, image = bits32(fabs32(a));
  const u32 below = (127 - bias) << mantissa;
  u32 code = ((image + (1u << (shift - 1)) - 1 + (image >> shift & 1)) >> shift) - below;
  if (image < (128 - bias) << 23)  // below the smallest normal one
    code = (u32)__builtin_rintf(as_f32(image) * as_f32((126 + bias + mantissa) << 23));
  if (a != a) return 0x7f;
  return sign | (image >> 23 == 255 || code > most ? most : code);
}
FUNCTION f32 of_e4m3(u32 a) {
  const u32 rest = a & 0x7f, sign = (a & 0x80) << 24;
  const f32 small = as_f32(sign | bits32((f32)rest * 0x1p-9f));
  return rest == 0x7f ? as_f32(0x7fc00000) : rest < 8 ? small : as_f32(sign | ((rest << 20) + (120u << 23)));
}

FUNCTION bool needs_slow_division(f32 a, f32 b) {
  const i32 x = (i32)(bits32(a) >> 23 & 255), y = (i32)(bits32(b) >> 23 & 255);
  return x < 25 || x > 252 || y < 25 || y > 252 || x - y > 100 || y - x > 100;
}

#define BIT(k) ((u32)P##k << k)
#define PREDICATES (BIT(0) | BIT(1) | BIT(2) | BIT(3) | BIT(4) | BIT(5) | BIT(6))
#define SET(k, from, mask) if ((mask) >> k & 1) P##k = (from) >> k & 1
#define SET_PREDICATES(from, mask)                                                             \
  SET(0, from, mask); SET(1, from, mask); SET(2, from, mask); SET(3, from, mask);              \
  SET(4, from, mask); SET(5, from, mask); SET(6, from, mask)

// The lane that a shuffle reads, by shfl.sync's segments; *is_inside is false if it reads its own.
FUNCTION u32 shuffled(u32 a, u32 from, bool is_inside, bool *inside) {
  *inside = is_inside;
  return lane_value(a, is_inside ? from : lane_id());
}
#define SEGMENT                                                                                \
  const u32 lane = lane_id(), segment = c >> 8 & 31, base = lane & segment;                    \
  const u32 last = base | (c & 31 & ~segment);
FUNCTION u32 shuffle_idx(u32 a, u32 b, u32 c, bool *p) {
  SEGMENT const u32 from = base | (b & 31 & ~segment);
  return shuffled(a, from, from <= last, p);
}
FUNCTION u32 shuffle_up(u32 a, u32 b, u32 c, bool *p) {
  SEGMENT const i32 from = (i32)lane - (i32)(b & 31);
  return shuffled(a, (u32)from, from >= (i32)last, p);
}
FUNCTION u32 shuffle_down(u32 a, u32 b, u32 c, bool *p) {
  SEGMENT const u32 from = lane + (b & 31);
  return shuffled(a, from, from <= last, p);
}
FUNCTION u32 shuffle_bfly(u32 a, u32 b, u32 c, bool *p) {
  SEGMENT const u32 from = lane ^ (b & 31);
  return shuffled(a, from, from <= last, p);
}
#undef SEGMENT

// Lane l holds rows l / 4 and l / 4 + 8 of the sums, columns 2 (l % 4) and the next; A's rows alike,
// with columns as B's rows; B's columns are l / 4. Source: the PTX ISA, mma.m16n8k16, .f16.
FUNCTION u32x4 mma_16816_f16_f32(u32x4 a, u32x2 b, u32x4 c) {
  const u32 lane = lane_id(), row = lane & ~3u, column = 8 * (lane & 3);
  f32 sums[4] = {as_f32(c[0]), as_f32(c[1]), as_f32(c[2]), as_f32(c[3])};
  for (u32 k = 0; k < 4; ++k) {  // the lanes of a row hold its columns 2k, 2k + 1, 2k + 8, 2k + 9
    h2 parts[4], left[2], right[2];
    for (u32 j = 0; j < 4; ++j) parts[j] = as_h2(lane_value(a[j], row + k));
    for (u32 j = 0; j < 2; ++j) {
      left[j] = as_h2(lane_value(b[j], column + k));
      right[j] = as_h2(lane_value(b[j], column + 4 + k));
    }
    for (u32 j = 0; j < 2; ++j)
      for (u32 i = 0; i < 2; ++i) {
        sums[0] += (f32)parts[2 * j][i] * (f32)left[j][i];
        sums[1] += (f32)parts[2 * j][i] * (f32)right[j][i];
        sums[2] += (f32)parts[2 * j + 1][i] * (f32)left[j][i];
        sums[3] += (f32)parts[2 * j + 1][i] * (f32)right[j][i];
      }
  }
  return (u32x4){bits32(sums[0]), bits32(sums[1]), bits32(sums[2]), bits32(sums[3])};
}

// As above; a lane's bytes are four columns of A's rows l / 4 and l / 4 + 8, and of B's column l / 4.
FUNCTION u32x4 mma_16816_s8(u32x2 a, u32 b, u32x4 c) {
  const u32 lane = lane_id(), row = lane & ~3u, column = 8 * (lane & 3);
  for (u32 k = 0; k < 4; ++k) {
    const u32 upper = lane_value(a[0], row + k), lower = lane_value(a[1], row + k);
    const u32 left = lane_value(b, column + k), right = lane_value(b, column + 4 + k);
    for (u32 at = 0; at < 32; at += 8) {
      const i32 u = (i8)(upper >> at), v = (i8)(lower >> at);
      const i32 x = (i8)(left >> at), y = (i8)(right >> at);
      c += (u32x4){(u32)(u * x), (u32)(u * y), (u32)(v * x), (u32)(v * y)};
    }
  }
  return c;
}
