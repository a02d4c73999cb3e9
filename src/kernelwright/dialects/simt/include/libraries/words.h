// CUDA's operations on the two halves or the four bytes of a word: AMD GPUs have few of them, so that
// they are written out, part by part. WORDS(name) gives the functions' names.
// Source: CUDA Math API, "SIMD Intrinsics"; PTX ISA, "vavrg2" and after, for averages.
#ifndef WORDS
#define WORDS(name) port##name
#endif
namespace port_words {
template <int Bits> __host__ __device__ inline int with_sign(unsigned v) {
  return static_cast<int>(v << (32 - Bits)) >> (32 - Bits);
}
template <int Bits> __host__ __device__ inline int without_sign(unsigned v) {
  return static_cast<int>(v & ((1u << Bits) - 1));
}
template <int Bits> __host__ __device__ inline int within_signed(int v) {
  constexpr int most = (1 << (Bits - 1)) - 1;
  return v > most ? most : v < -most - 1 ? -most - 1 : v;
}
template <int Bits> __host__ __device__ inline int within_unsigned(int v) {
  constexpr int most = (1 << Bits) - 1;
  return v > most ? most : v < 0 ? 0 : v;
}
__host__ __device__ inline int size_of(int v) { return v < 0 ? -v : v; }
}  // namespace port_words

// For each part, `expression` of x and y, of the size B in bits.
#define PORT_PARTS(name, B, read, expression)                                                     \
  __host__ __device__ static inline unsigned WORDS(name)(unsigned a, unsigned b) {                \
    unsigned parts = 0;                                                                           \
    for (int at = 0; at < 32; at += B) {                                                          \
      const int x = port_words::read<B>(a >> at), y = port_words::read<B>(b >> at);               \
      parts |= (static_cast<unsigned>(expression) & ((1u << B) - 1)) << at;                       \
    }                                                                                             \
    return parts;                                                                                 \
  }
#define PORT_PART(name, B, expression)                                                            \
  __host__ __device__ static inline unsigned WORDS(name)(unsigned a) {                            \
    unsigned parts = 0;                                                                           \
    for (int at = 0; at < 32; at += B) {                                                          \
      const int x = port_words::with_sign<B>(a >> at);                                            \
      parts |= (static_cast<unsigned>(expression) & ((1u << B) - 1)) << at;                       \
    }                                                                                             \
    return parts;                                                                                 \
  }
#define PORT_PART_SUM(name, B, read)                                                              \
  __host__ __device__ static inline unsigned WORDS(name)(unsigned a, unsigned b) {                \
    unsigned sum = 0;                                                                             \
    for (int at = 0; at < 32; at += B)                                                            \
      sum += port_words::size_of(port_words::read<B>(a >> at) - port_words::read<B>(b >> at));    \
    return sum;                                                                                   \
  }
#define PORT_COMPARED(name, B, read, op)                \
  PORT_PARTS(__vcmp##name, B, read, x op y ? ~0u : 0u)  \
  PORT_PARTS(__vset##name, B, read, x op y ? 1u : 0u)
#define PORT_WORD(N, B)                                                                  \
  PORT_PART(__vabs##N, B, port_words::size_of(x))                                        \
  PORT_PART(__vabsss##N, B, port_words::within_signed<B>(port_words::size_of(x)))        \
  PORT_PART(__vneg##N, B, -x)                                                            \
  PORT_PART(__vnegss##N, B, port_words::within_signed<B>(-x))                            \
  PORT_PARTS(__vabsdiffs##N, B, with_sign, port_words::size_of(x - y))                   \
  PORT_PARTS(__vabsdiffu##N, B, without_sign, port_words::size_of(x - y))                \
  PORT_PARTS(__vadd##N, B, with_sign, x + y)                                             \
  PORT_PARTS(__vaddss##N, B, with_sign, port_words::within_signed<B>(x + y))             \
  PORT_PARTS(__vaddus##N, B, without_sign, port_words::within_unsigned<B>(x + y))        \
  PORT_PARTS(__vsub##N, B, with_sign, x - y)                                             \
  PORT_PARTS(__vsubss##N, B, with_sign, port_words::within_signed<B>(x - y))             \
  PORT_PARTS(__vsubus##N, B, without_sign, port_words::within_unsigned<B>(x - y))        \
  PORT_PARTS(__vavgs##N, B, with_sign, (x + y + (x + y >= 0)) >> 1)                      \
  PORT_PARTS(__vavgu##N, B, without_sign, (x + y + 1) >> 1)                              \
  PORT_PARTS(__vhaddu##N, B, without_sign, (x + y) >> 1)                                 \
  PORT_PARTS(__vmaxs##N, B, with_sign, x > y ? x : y)                                    \
  PORT_PARTS(__vmaxu##N, B, without_sign, x > y ? x : y)                                 \
  PORT_PARTS(__vmins##N, B, with_sign, x < y ? x : y)                                    \
  PORT_PARTS(__vminu##N, B, without_sign, x < y ? x : y)                                 \
  PORT_PART_SUM(__vsads##N, B, with_sign)                                                \
  PORT_PART_SUM(__vsadu##N, B, without_sign)                                             \
  PORT_COMPARED(eq##N, B, with_sign, ==)                                                 \
  PORT_COMPARED(ne##N, B, with_sign, !=)                                                 \
  PORT_COMPARED(ges##N, B, with_sign, >=)                                                \
  PORT_COMPARED(geu##N, B, without_sign, >=)                                             \
  PORT_COMPARED(gts##N, B, with_sign, >)                                                 \
  PORT_COMPARED(gtu##N, B, without_sign, >)                                              \
  PORT_COMPARED(les##N, B, with_sign, <=)                                                \
  PORT_COMPARED(leu##N, B, without_sign, <=)                                             \
  PORT_COMPARED(lts##N, B, with_sign, <)                                                 \
  PORT_COMPARED(ltu##N, B, without_sign, <)
PORT_WORD(2, 16)
PORT_WORD(4, 8)
#undef PORT_WORD
#undef PORT_COMPARED
#undef PORT_PART_SUM
#undef PORT_PART
#undef PORT_PARTS
#undef WORDS
