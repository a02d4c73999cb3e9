// Atomic types and functions of the Metal Shading Language.
// Source: Metal Shading Language Specification 4, section 6.15.
#pragma once
#pragma clang attribute push(__attribute__((no_sanitize("thread"))), apply_to = function)

namespace metal {

template <typename T> struct atomic { T held; };
template <typename T> using _atomic = atomic<T>;
using atomic_int = atomic<int>;
using atomic_uint = atomic<uint>;
using atomic_ulong = atomic<ulong>;
using atomic_float = atomic<float>;
using atomic_bool = atomic<bool>;

template <typename T>
SIMT_RAW T atomic_load_explicit(const volatile atomic<T>* at, memory_order) {
  simt::simt_atomic(at, sizeof(T), SIMT_SITE);
  return at->held;
}
template <typename T>
SIMT_RAW void atomic_store_explicit(volatile atomic<T>* at, type_identity_t<T> value, memory_order) {
  simt::simt_atomic(at, sizeof(T), SIMT_SITE);
  at->held = value;
}
#define MSL_ATOMIC(name, ...)                                                                 \
  template <typename T>                                                                       \
  SIMT_RAW T name##_explicit(volatile atomic<T>* at, type_identity_t<T> b, memory_order) {    \
    simt::simt_atomic(at, sizeof(T), SIMT_SITE);                                              \
    const T a = at->held;                                                                     \
    at->held = static_cast<T>(__VA_ARGS__);                                                   \
    return a;                                                                                 \
  }
MSL_ATOMIC(atomic_exchange, b)
MSL_ATOMIC(atomic_fetch_add, a + b)
MSL_ATOMIC(atomic_fetch_sub, a - b)
MSL_ATOMIC(atomic_fetch_min, min(a, b))
MSL_ATOMIC(atomic_fetch_max, max(a, b))
MSL_ATOMIC(atomic_fetch_and, a & b)
MSL_ATOMIC(atomic_fetch_or, a | b)
MSL_ATOMIC(atomic_fetch_xor, a ^ b)
#undef MSL_ATOMIC
template <typename T>
SIMT_RAW bool atomic_compare_exchange_weak_explicit(volatile atomic<T>* at, T* expected,
                                                    type_identity_t<T> value, memory_order,
                                                    memory_order) {
  simt::simt_atomic(at, sizeof(T), SIMT_SITE);
  simt::simt_compare(at, sizeof(T), expected);
  const T found = at->held;
  if (__builtin_memcmp(&found, expected, sizeof(T)) == 0) {
    at->held = value;
    return true;
  }
  *expected = found;
  return false;
}

}  // namespace metal
#pragma clang attribute pop
