"""The prelude of emitted C++ for combining lanes, scanning them, and prefetching."""

FOLDS = {
    "fetch": """
// Ask for the n elements at p, a cache line at a time.
template <int n, class T> static inline void fetch(const T* p) {
  for (int i = 0; i < n; i += 64 / (int)sizeof(T)) __builtin_prefetch(p + i);
}
""",
    "stream": """
// Copy n elements past the caches: a line that is written whole need not be read first. Threads
// that meet at a barrier see it, because locked instructions write out what is on its way.
template <int n> static inline void stream(float* to, const float* from) {
#if defined(__AVX512F__) && !defined(__clang__)
  typedef float line __attribute__((vector_size(64)));
  if (n % 16 == 0 && (uintptr_t)to % 64 == 0) {
    for (int i = 0; i < n; i += 16) __builtin_ia32_movntps512(to + i, *(const line*)(from + i));
    return;
  }
#elif defined(__AVX__) && !defined(__clang__)
  typedef float line __attribute__((vector_size(32)));
  if (n % 8 == 0 && (uintptr_t)to % 32 == 0) {
    for (int i = 0; i < n; i += 8) __builtin_ia32_movntps256(to + i, *(const line*)(from + i));
    return;
  }
#endif
  __builtin_memcpy(to, from, n * sizeof(float));
}
""",
    "fold_sum": """
// The sum of n lanes, pairwise.
template <int n, class T> static inline T fold_sum(T* lane) {
  if constexpr (n == 1) return lane[0];
  constexpr int half = (n + 1) / 2;
  for (int l = 0; l < n - half; ++l) lane[l] += lane[l + half];
  return fold_sum<half>(lane);
}
""",
    "fold_prod": """
template <int n, class T> static inline T fold_prod(T* lane) {
  if constexpr (n == 1) return lane[0];
  constexpr int half = (n + 1) / 2;
  for (int l = 0; l < n - half; ++l) lane[l] *= lane[l + half];
  return fold_prod<half>(lane);
}
""",
    "fold_max": """
template <int n, class T> static inline T fold_max(T* lane) {
  if constexpr (n == 1) return lane[0];
  constexpr int half = (n + 1) / 2;
  for (int l = 0; l < n - half; ++l) lane[l] = math::maximum(lane[l], lane[l + half]);
  return fold_max<half>(lane);
}
""",
    "fold_min": """
template <int n, class T> static inline T fold_min(T* lane) {
  if constexpr (n == 1) return lane[0];
  constexpr int half = (n + 1) / 2;
  for (int l = 0; l < n - half; ++l) lane[l] = math::minimum(lane[l], lane[l + half]);
  return fold_min<half>(lane);
}
""",
    "fold_any": """
template <int n> static inline bool fold_any(const bool* lane) {
  bool r = false;
  for (int l = 0; l < n; ++l) r |= lane[l];
  return r;
}
""",
    "fold_all": """
template <int n> static inline bool fold_all(const bool* lane) {
  bool r = true;
  for (int l = 0; l < n; ++l) r &= lane[l];
  return r;
}
""",
    "scan_sum": """
// Running sums of n lanes, continued from `carry`: eight at a time in a register by three shifted
// additions, so that only one addition in eight waits for the one before.
template <int n> static inline void scan_sum(double* lane, double& carry) {
  int l = 0;
#if !defined(__clang__)
  typedef double vec8 __attribute__((vector_size(64)));
  typedef int64_t at8 __attribute__((vector_size(64)));
  const vec8 zero = {};
  for (; l + 8 <= n; l += 8) {
    vec8 s = *(const vec8*)(lane + l);
    s += __builtin_shuffle(s, zero, (at8){8, 0, 1, 2, 3, 4, 5, 6});
    s += __builtin_shuffle(s, zero, (at8){8, 8, 0, 1, 2, 3, 4, 5});
    s += __builtin_shuffle(s, zero, (at8){8, 8, 8, 8, 0, 1, 2, 3});
    *(vec8*)(lane + l) = s + carry;
    carry += s[7];
  }
#endif
  for (; l < n; ++l) lane[l] = carry += lane[l];
}
""",
    "fold_arg": """
// The place of the largest (sign 1) or smallest (sign -1) of n lanes: NaN before all, then the
// earlier of equals. A place of -1 is a lane that has seen nothing.
template <int n, int sign, class T, class I>
static inline int64_t fold_arg(const T* lane, const I* at) {
  T best = lane[0];
  int64_t place = at[0];
  for (int l = 1; l < n; ++l) {
    const T v = lane[l];
    const bool better = (sign > 0 ? v > best : v < best) | ((v != v) & (best == best));
    const bool tied = (v == best) | ((v != v) & (best != best));
    const bool wins = (at[l] >= 0) & ((place < 0) | better | (tied & (at[l] < place)));
    best = wins ? v : best;
    place = wins ? at[l] : place;
  }
  return place;
}
""",
}
