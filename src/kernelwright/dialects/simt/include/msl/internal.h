// Names that Apple's own headers give to the functions behind MSL's, which public kernels call.
// Source: the uses in MLX's kernels (bf16_math.h, bf16.h).
#pragma once

#define MSL_INTERNAL1(name) \
  template <typename T> T __metal_##name(T x, int = 0) { return metal::name(x); }
#define MSL_INTERNAL2(name) \
  template <typename T> T __metal_##name(T x, T y, int = 0) { return metal::name(x, y); }
#define MSL_INTERNAL3(name) \
  template <typename T> T __metal_##name(T x, T y, T z, int = 0) { return metal::name(x, y, z); }
#define MSL_INTERNAL_SIMD(name)                                            \
  template <typename T, typename... A>                                     \
  SIMT_COLLECTIVE T __metal_##name(T x, A... more) { return metal::name(x, more...); }
MSL_INTERNAL1(acos) MSL_INTERNAL1(acosh) MSL_INTERNAL1(asin) MSL_INTERNAL1(asinh)
MSL_INTERNAL1(atan) MSL_INTERNAL1(atanh) MSL_INTERNAL1(ceil) MSL_INTERNAL1(cos)
MSL_INTERNAL1(cosh) MSL_INTERNAL1(cospi) MSL_INTERNAL1(exp) MSL_INTERNAL1(exp2)
MSL_INTERNAL1(exp10) MSL_INTERNAL1(fabs) MSL_INTERNAL1(floor) MSL_INTERNAL1(fract)
MSL_INTERNAL1(log) MSL_INTERNAL1(log2) MSL_INTERNAL1(log10) MSL_INTERNAL1(rint)
MSL_INTERNAL1(round) MSL_INTERNAL1(rsqrt) MSL_INTERNAL1(sin) MSL_INTERNAL1(sinh)
MSL_INTERNAL1(sinpi) MSL_INTERNAL1(sqrt) MSL_INTERNAL1(tan) MSL_INTERNAL1(tanh)
MSL_INTERNAL1(tanpi) MSL_INTERNAL1(trunc)
MSL_INTERNAL2(atan2) MSL_INTERNAL2(divide) MSL_INTERNAL2(fmax) MSL_INTERNAL2(fmin)
MSL_INTERNAL2(fmod) MSL_INTERNAL2(nextafter) MSL_INTERNAL2(pow) MSL_INTERNAL2(powr)
MSL_INTERNAL3(fma) MSL_INTERNAL3(fmax3) MSL_INTERNAL3(fmedian3) MSL_INTERNAL3(fmin3)
template <typename T> T __metal_ldexp(T x, int k, int = 0) { return metal::ldexp(x, k); }
template <typename T> T __metal_frexp(T x, int* k) { return metal::frexp(x, *k); }
MSL_INTERNAL_SIMD(simd_broadcast) MSL_INTERNAL_SIMD(simd_shuffle)
MSL_INTERNAL_SIMD(simd_shuffle_and_fill_down) MSL_INTERNAL_SIMD(simd_shuffle_and_fill_up)
MSL_INTERNAL_SIMD(simd_shuffle_down) MSL_INTERNAL_SIMD(simd_shuffle_up)
MSL_INTERNAL_SIMD(simd_shuffle_rotate_down) MSL_INTERNAL_SIMD(simd_shuffle_rotate_up)
MSL_INTERNAL_SIMD(simd_shuffle_xor) MSL_INTERNAL_SIMD(simd_max) MSL_INTERNAL_SIMD(simd_min)
MSL_INTERNAL_SIMD(simd_sum) MSL_INTERNAL_SIMD(simd_product)
MSL_INTERNAL_SIMD(simd_prefix_exclusive_product) MSL_INTERNAL_SIMD(simd_prefix_exclusive_sum)
MSL_INTERNAL_SIMD(simd_prefix_inclusive_product) MSL_INTERNAL_SIMD(simd_prefix_inclusive_sum)
template <typename T> SIMT_COLLECTIVE T __metal_simd_xor(T x) {
  using Bits = metal::conditional_t<sizeof(T) == 4, unsigned, unsigned short>;
  return __builtin_bit_cast(T, metal::simd_xor(__builtin_bit_cast(Bits, x)));
}
#undef MSL_INTERNAL1
#undef MSL_INTERNAL2
#undef MSL_INTERNAL3
#undef MSL_INTERNAL_SIMD
inline unsigned short __metal_get_simdgroup_size(unsigned short) { return 32; }
inline unsigned short __metal_get_thread_index_in_simdgroup(unsigned short) {
  const auto at = simt::simt_thread_idx(), shape = simt::simt_block_dim();
  return (at.x + shape.x * (at.y + shape.y * at.z)) % 32;
}
