"""The C++ prelude for matrix products: register tiles, packing, and blocks distributed over
threads."""

from __future__ import annotations

VECTORS = """\
namespace gemm {
#if defined(__AVX512F__)
constexpr int LANES = 16;
#elif defined(__AVX__)
constexpr int LANES = 8;
#else
constexpr int LANES = 4;
#endif
typedef float vec __attribute__((vector_size(4 * LANES)));
typedef float loose __attribute__((vector_size(4 * LANES), aligned(4)));  // any address
typedef int32_t places __attribute__((vector_size(4 * LANES)));

// Where lane l has bit `step`: b[l - step] in `low`, b[l] in `high`; elsewhere a[l], a[l + step].
static inline void exchange(vec a, vec b, int step, vec& low, vec& high) {
  places from_low, from_high;
  for (int l = 0; l < LANES; ++l) {
    from_low[l] = l & step ? LANES + l - step : l;
    from_high[l] = l & step ? LANES + l : l + step;
  }
#if defined(__clang__)
  for (int l = 0; l < LANES; ++l) {
    low[l] = from_low[l] < LANES ? a[from_low[l]] : b[from_low[l] - LANES];
    high[l] = from_high[l] < LANES ? a[from_high[l]] : b[from_high[l] - LANES];
  }
#else
  low = __builtin_shuffle(a, b, from_low);
  high = __builtin_shuffle(a, b, from_high);
#endif
}
}  // namespace gemm
"""

TILES = """\
namespace gemm {
// How a product of m x n, summed over k, is cut: register tiles of mr x nr, blocks of mc rows and
// nc columns for the second-level cache, kc summed at a time.
template <int n_, int k_, int mr_, int nv_, int mc_, int nc_, int kc_, bool threads_> struct cut {
  static constexpr int n = n_, k = k_, nv = nv_, nr = nv_ * LANES, mc = mc_, nc = nc_;
  static constexpr int mr = LANES == 16 ? mr_ : (mr_ > 6 ? 6 : mr_);  // 16 registers, not 32
  static constexpr int kc = kc_ < k_ ? kc_ : k_;
  static constexpr int panels = (n_ + nr - 1) / nr;
  static constexpr bool threads = threads_;
};

// sums[mr][nr] (+)= (n_k x mr panel of rows) times (n_k x nr panel of columns). Runs of 128 are
// summed apart: one long chain of additions would lose more digits than the library does.
template <class C>
static inline void tile(const float* __restrict rows, const float* __restrict columns, int n_k,
                        float* __restrict sums, bool is_first) {
  for (int begin = 0; begin < n_k; begin += 128) {
    const int run = n_k - begin < 128 ? n_k - begin : 128;
    vec acc[C::mr][C::nv];
    for (int i = 0; i < C::mr; ++i)
      for (int v = 0; v < C::nv; ++v) acc[i][v] = vec{};
    for (int k = 0; k < run; ++k) {
      vec column[C::nv];
      for (int v = 0; v < C::nv; ++v) column[v] = *(const vec*)(columns + v * LANES);
      for (int i = 0; i < C::mr; ++i)
        for (int v = 0; v < C::nv; ++v) acc[i][v] += rows[i] * column[v];
      rows += C::mr;
      columns += C::nr;
    }
    if (is_first && begin == 0) {
      for (int i = 0; i < C::mr; ++i)
        for (int v = 0; v < C::nv; ++v) *(vec*)(sums + (i * C::nv + v) * LANES) = acc[i][v];
    } else {
      for (int i = 0; i < C::mr; ++i)
        for (int v = 0; v < C::nv; ++v) *(vec*)(sums + (i * C::nv + v) * LANES) += acc[i][v];
    }
  }
}

// A panel of `width` rows or columns: to[k][lane] = operand(first + lane, k), 0 beyond `count`.
template <int width, bool along_k, class Operand>
static inline void pack(Operand operand, int first, int count, int k_begin, int k_end,
                        float* __restrict to) {
  const int n = count - first < width ? count - first : width;
  if (n < width)
    for (int i = 0; i < (k_end - k_begin) * width; ++i) to[i] = 0;
  if constexpr (!along_k) {
    for (int k = k_begin; k < k_end; ++k, to += width) {
      if (n == width) {
        #pragma omp simd
        for (int l = 0; l < width; ++l) to[l] = operand(first + l, k);
      } else {
        for (int l = 0; l < n; ++l) to[l] = operand(first + l, k);
      }
    }
  } else {  // the operand gives addresses, contiguous along k: transpose squares of LANES
    int k = k_begin;
    for (; k + LANES <= k_end; k += LANES, to += LANES * width)
      for (int l = 0; l < n; l += LANES) {
        vec line[LANES];
        for (int i = 0; i < LANES; ++i)
          line[i] = *(const loose*)operand(first + (l + i < n ? l + i : n - 1), k);
        for (int step = 1; step < LANES; step *= 2)
          for (int i = 0; i < LANES; ++i)
            if (!(i & step)) exchange(line[i], line[i + step], step, line[i], line[i + step]);
        if (l + LANES <= width)
          for (int j = 0; j < LANES; ++j) *(loose*)(to + j * width + l) = line[j];
        else
          for (int j = 0; j < LANES; ++j)
            for (int i = 0; i < width - l; ++i) to[j * width + l + i] = line[j][i];
      }
    for (; k < k_end; ++k, to += width)
      for (int l = 0; l < n; ++l) to[l] = *operand(first + l, k);
  }
}

// The whole product; finish(sums, m, n_rows, n, n_columns) takes each finished tile.
template <class C, bool rows_along_k, bool columns_along_k, class Rows, class Columns, class Finish>
static inline void tiles(const int m_all, Rows rows, Columns columns, Finish finish) {
  alignas(64) static thread_local float packed_memory[(size_t)C::panels * C::nr * C::k];
  float* const packed = packed_memory;  // the caller's, shared by the threads below
  #pragma omp parallel if (C::threads)
  {
    #pragma omp for schedule(static)
    for (int panel = 0; panel < C::panels; ++panel)
      pack<C::nr, columns_along_k>(columns, panel * C::nr, C::n, 0, C::k,
                                   packed + (size_t)panel * C::nr * C::k);
    constexpr bool is_cut = C::kc < C::k;
    alignas(64) static thread_local float block[(C::mc + C::mr) * C::kc];
    alignas(64) static thread_local float sums[is_cut ? (C::mc + C::mr) * C::nc : C::mr * C::nr];
    int packed_m = -1;
    #pragma omp for collapse(2) schedule(static)
    for (int m0 = 0; m0 < m_all; m0 += C::mc)
      for (int n0 = 0; n0 < C::n; n0 += C::nc) {
        const int m1 = m0 + C::mc < m_all ? m0 + C::mc : m_all;
        const int n1 = n0 + C::nc < C::n ? n0 + C::nc : C::n;
        for (int k0 = 0; k0 < C::k; k0 += C::kc) {
          const int k1 = k0 + C::kc < C::k ? k0 + C::kc : C::k;
          if (is_cut || packed_m != m0)
            for (int m = m0; m < m1; m += C::mr)
              pack<C::mr, rows_along_k>(rows, m, m_all, k0, k1, block + (m - m0) * C::kc);
          packed_m = m0;
          for (int n = n0; n < n1; n += C::nr)
            for (int m = m0; m < m1; m += C::mr) {
              const float* panel = packed + (size_t)n * C::k + (size_t)k0 * C::nr;
              float* sum = is_cut ? sums + (m - m0) * C::nc + (n - n0) * C::mr : sums;
              tile<C>(block + (m - m0) * C::kc, panel, k1 - k0, sum, k0 == 0);
              const int n_rows = m1 - m < C::mr ? m1 - m : C::mr;
              const int n_columns = n1 - n < C::nr ? n1 - n : C::nr;
              if (k1 == C::k) finish(sum, m, n_rows, n, n_columns);
            }
        }
      }
  }
}
}  // namespace gemm
"""

DOTS = """\
namespace gemm {
// A product with few rows: both operands are read where they lie, vectors running along k.
template <int n_, int k_, int mr_, bool threads_> struct few {
  static constexpr int n = n_, k = k_, mr = mr_, nr = 16 / mr_;  // 16 sums at a time
  static constexpr bool threads = threads_;
};

template <class C, class Rows, class Columns, class Finish>
static inline void dots(const int m_all, Rows rows, Columns columns, Finish finish) {
  #pragma omp parallel for schedule(static) if (C::threads)
  for (int n0 = 0; n0 < C::n; n0 += C::nr)
    for (int m0 = 0; m0 < m_all; m0 += C::mr) {
      const float *left[C::mr], *right[C::nr];
      for (int i = 0; i < C::mr; ++i) left[i] = rows(m0 + i < m_all ? m0 + i : m_all - 1, 0);
      for (int j = 0; j < C::nr; ++j) right[j] = columns(n0 + j < C::n ? n0 + j : C::n - 1, 0);
      vec acc[16];
      for (int i = 0; i < 16; ++i) acc[i] = vec{};
      constexpr int whole = C::k / LANES * LANES;
      for (int k = 0; k < whole; k += LANES) {
        vec row[C::mr];
        for (int i = 0; i < C::mr; ++i) row[i] = *(const loose*)(left[i] + k);
        for (int j = 0; j < C::nr; ++j) {
          const vec column = *(const loose*)(right[j] + k);
          for (int i = 0; i < C::mr; ++i) acc[i * C::nr + j] += row[i] * column;
        }
      }
      for (int first = 0; first < 16; first += LANES)  // lane i: the sum of acc[first + i]
        for (int step = 1; step < LANES; step *= 2)
          for (int i = 0; i < LANES; i += 2 * step) {
            vec low, high;
            exchange(acc[first + i], acc[first + i + step], step, low, high);
            acc[first + i] = low + high;
          }
      float sums[16];
      for (int i = 0; i < 16; ++i) sums[i] = acc[i / LANES * LANES][i % LANES];
      for (int k = whole; k < C::k; ++k)
        for (int i = 0; i < 16; ++i) sums[i] += left[i / C::nr][k] * right[i % C::nr][k];
      finish(sums, m0, m_all - m0 < C::mr ? m_all - m0 : C::mr, n0,
             C::n - n0 < C::nr ? C::n - n0 : C::nr);
    }
}
}  // namespace gemm
"""


def gemm_prelude(text: str) -> str:
    """Return the pieces of the prelude that ``text`` uses."""
    if "gemm::" not in text:
        return ""
    parts = [VECTORS]
    parts += [TILES] if "gemm::tiles<" in text else []
    parts += [DOTS] if "gemm::dots<" in text else []
    return "\n".join(parts)
