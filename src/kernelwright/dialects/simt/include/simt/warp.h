// Warp collectives and barriers. `*_sync` forms wait for the lanes of their mask; the others act on
// the lanes that are converged at the call, as a wavefront does.
#pragma once
#include "simt/core.h"

namespace simt {

inline std::uint64_t wave_mask() {
  return simt_width() == 64 ? ~0ull : (1ull << simt_width()) - 1;
}

template <typename T>
SIMT_RAW T gather(T value, int source, Wait kind, std::uint64_t mask, std::uintptr_t site) {
  std::uint64_t words[2];
  Bits<T>::out(value, words);
  Snapshot* all = simt_exchange(static_cast<int>(kind), mask, words[0], words[1], site);
  T result = value;
  if (all->active >> source & 1) result = Bits<T>::in(all->words[source]);
  simt_release(all);
  return result;
}

SIMT_RAW inline std::uint64_t vote(bool bit, Wait kind, std::uint64_t mask, std::uintptr_t site) {
  Snapshot* all = simt_exchange(static_cast<int>(kind), mask, bit, 0, site);
  std::uint64_t bits = 0;
  for (int lane = 0; lane < 64; ++lane)
    if (all->active >> lane & 1 && all->words[lane][0]) bits |= 1ull << lane;
  simt_release(all);
  return bits;
}

SIMT_RAW inline std::uint64_t active(Wait kind, std::uint64_t mask, std::uintptr_t site) {
  Snapshot* all = simt_exchange(static_cast<int>(kind), mask, 0, 0, site);
  const std::uint64_t bits = all->active;
  simt_release(all);
  return bits;
}

template <typename T>
SIMT_RAW std::uint64_t match(T value, Wait kind, std::uint64_t mask, std::uintptr_t site) {
  std::uint64_t words[2], bits = 0;
  Bits<T>::out(value, words);
  Snapshot* all = simt_exchange(static_cast<int>(kind), mask, words[0], words[1], site);
  for (int lane = 0; lane < 64; ++lane)
    if (all->active >> lane & 1 && all->words[lane][0] == words[0] && all->words[lane][1] == words[1])
      bits |= 1ull << lane;
  simt_release(all);
  return bits;
}

// Source lanes of the four shuffles, within sections of `width` lanes.
inline int lane_of(int lane, int width) { return lane & ~(width - 1); }
inline int from_index(int lane, int index, int width) {
  return lane_of(lane, width) + (index & (width - 1));
}
inline int from_up(int lane, int delta, int width) {
  return lane - delta < lane_of(lane, width) ? lane : lane - delta;
}
inline int from_down(int lane, int delta, int width) {
  return lane + delta >= lane_of(lane, width) + width ? lane : lane + delta;
}
inline int from_xor(int lane, int bits, int width) {
  return (lane ^ bits) >= lane_of(lane, width) + width ? lane : lane ^ bits;
}

}  // namespace simt

#define SIMT_SHUFFLE(name, from)                                                                   \
  template <typename T>                                                                            \
  SIMT_COLLECTIVE T name(T value, int at, int width = simt::simt_width()) {                               \
    return simt::gather(value, simt::from(simt::simt_lane(), at, width), simt::Wait::converged, 0, \
                        SIMT_SITE);                                                                \
  }                                                                                                \
  template <typename T>                                                                            \
  SIMT_COLLECTIVE T name##_sync(SIMT_MASK mask, T value, int at, int width = simt::simt_width()) {        \
    return simt::gather(value, simt::from(simt::simt_lane(), at, width), simt::Wait::mask, mask,   \
                        SIMT_SITE);                                                                \
  }
SIMT_SHUFFLE(__shfl, from_index)
SIMT_SHUFFLE(__shfl_up, from_up)
SIMT_SHUFFLE(__shfl_down, from_down)
SIMT_SHUFFLE(__shfl_xor, from_xor)
#undef SIMT_SHUFFLE

SIMT_COLLECTIVE inline SIMT_BALLOT __ballot(int p) {
  return static_cast<SIMT_BALLOT>(simt::vote(p != 0, simt::Wait::converged, 0, SIMT_SITE));
}
SIMT_COLLECTIVE inline int __any(int p) {
  return simt::vote(p != 0, simt::Wait::converged, 0, SIMT_SITE) != 0;
}
SIMT_COLLECTIVE inline int __all(int p) {
  return simt::vote(p == 0, simt::Wait::converged, 0, SIMT_SITE) == 0;
}
SIMT_COLLECTIVE inline SIMT_BALLOT __activemask() {
  return static_cast<SIMT_BALLOT>(simt::active(simt::Wait::converged, 0, SIMT_SITE));
}
SIMT_COLLECTIVE inline SIMT_BALLOT __ballot_sync(SIMT_MASK mask, int p) {
  return static_cast<SIMT_BALLOT>(simt::vote(p != 0, simt::Wait::mask, mask, SIMT_SITE));
}
SIMT_COLLECTIVE inline int __any_sync(SIMT_MASK mask, int p) {
  return simt::vote(p != 0, simt::Wait::mask, mask, SIMT_SITE) != 0;
}
SIMT_COLLECTIVE inline int __all_sync(SIMT_MASK mask, int p) {
  return simt::vote(p == 0, simt::Wait::mask, mask, SIMT_SITE) == 0;
}
template <typename T> SIMT_COLLECTIVE SIMT_BALLOT __match_any_sync(SIMT_MASK mask, T value) {
  return static_cast<SIMT_BALLOT>(simt::match(value, simt::Wait::mask, mask, SIMT_SITE));
}
template <typename T> SIMT_COLLECTIVE SIMT_BALLOT __match_all_sync(SIMT_MASK mask, T value, int* all) {
  const auto same = simt::match(value, simt::Wait::mask, mask, SIMT_SITE);
  const auto present = simt::active(simt::Wait::mask, mask, SIMT_SITE);
  *all = same == present;
  return static_cast<SIMT_BALLOT>(*all ? present : 0);
}
#define SIMT_REDUCE(name, expression)                                                  \
  template <typename T> SIMT_COLLECTIVE T __reduce_##name##_sync(SIMT_MASK mask, T value) {   \
    std::uint64_t words[2];                                                            \
    simt::Bits<T>::out(value, words);                                                  \
    auto* all = simt::simt_exchange(0, mask, words[0], words[1], SIMT_SITE);           \
    bool first = true;                                                                 \
    T a{};                                                                             \
    for (int lane = 0; lane < 64; ++lane) {                                            \
      if (!(all->active >> lane & 1)) continue;                                        \
      const T b = simt::Bits<T>::in(all->words[lane]);                                 \
      a = first ? b : static_cast<T>(expression);                                      \
      first = false;                                                                   \
    }                                                                                  \
    simt::simt_release(all);                                                           \
    return a;                                                                          \
  }
SIMT_REDUCE(add, a + b)
SIMT_REDUCE(min, a < b ? a : b)
SIMT_REDUCE(max, a > b ? a : b)
SIMT_REDUCE(and, a & b)
SIMT_REDUCE(or, a | b)
SIMT_REDUCE(xor, a ^ b)
#undef SIMT_REDUCE

SIMT_COLLECTIVE inline void __syncwarp() {
#if SIMT_IS_HIP
  simt::active(simt::Wait::converged, 0, SIMT_SITE);
#else
  simt::active(simt::Wait::mask, simt::wave_mask(), SIMT_SITE);
#endif
}
SIMT_COLLECTIVE inline void __syncwarp(SIMT_MASK mask) { simt::active(simt::Wait::mask, mask, SIMT_SITE); }
SIMT_COLLECTIVE inline void __syncthreads() { simt::simt_barrier(SIMT_SITE, 0, 0); }
SIMT_COLLECTIVE inline int __syncthreads_count(int p) { return simt::simt_barrier(SIMT_SITE, 1, p != 0); }
SIMT_COLLECTIVE inline int __syncthreads_or(int p) { return simt::simt_barrier(SIMT_SITE, 1, p != 0) != 0; }
SIMT_COLLECTIVE inline int __syncthreads_and(int p) { return simt::simt_barrier(SIMT_SITE, 1, p == 0) == 0; }
SIMT_COLLECTIVE inline void __threadfence() { simt::simt_fence(); }
SIMT_COLLECTIVE inline void __threadfence_block() { simt::simt_fence(); }
SIMT_COLLECTIVE inline void __threadfence_system() { simt::simt_fence(); }
inline unsigned __lane_id() { return static_cast<unsigned>(simt::simt_lane()); }
