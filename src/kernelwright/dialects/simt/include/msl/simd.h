// Threads together in the Metal Shading Language: barriers, simdgroups of 32, quadgroups of 4,
// matrices that a simdgroup holds, and threadgroup memory.
// A lane whose source has left or is not at the call reads nothing that Metal defines: that is a
// complaint, but the shuffles with fill read the filling value there, on which PyTorch's kernels rely
// (c10/metal/reduction_utils.h).
// Source: Metal Shading Language Specification 4, sections 6.7 and 6.9.
#pragma once

// The emulation's own functions are not checked: they read memory that no kernel sees. They are
// convergent, so that their callers stay so: a call must not become two, one of them for some lanes.
#pragma clang attribute push(__attribute__((no_sanitize("thread"), convergent)), apply_to = function)
#define SIMT_RAW __attribute__((noinline))
// A collective's call must stay one call: its return address says where in the program it stands.
#define SIMT_COLLECTIVE SIMT_RAW __attribute__((convergent, noduplicate))
#define SIMT_SITE reinterpret_cast<unsigned long>(__builtin_return_address(0))

namespace simt {

struct Snapshot {  // as in simt/core.h
  unsigned long active;
  unsigned long words[64][2];
  int unread;
};
struct uint3 { unsigned x, y, z; };

extern "C" {
uint3 simt_thread_idx() __attribute__((const));
uint3 simt_block_idx() __attribute__((const));
uint3 simt_block_dim() __attribute__((const));
uint3 simt_grid_dim() __attribute__((const));
int simt_lane() __attribute__((const));
int simt_barrier(unsigned long site, int kind, int predicate);
void simt_fence();
void simt_atomic(const volatile void* at, unsigned long bytes, unsigned long site);
void simt_compare(const volatile void* at, unsigned long bytes, const void* expected);
void simt_complain(const char* kind, unsigned long site, const char* detail);
Snapshot* simt_exchange(int kind, unsigned long mask, unsigned long low, unsigned long high,
                        unsigned long site);
void simt_release(Snapshot*);
unsigned long simt_reserve_shared(unsigned long bytes);
char* simt_shared_base();
}

constexpr unsigned long THREADGROUP_BYTES = 32 * 1024;  // Metal feature set tables, all families
inline unsigned long threadgroup_bytes = 0;

template <typename T> using as_written = T;

// `threadgroup T name;`: one object for every threadgroup, told apart by the type of `Tag`.
template <typename T, typename Tag> SIMT_RAW T& threadgroup_memory(Tag) {
  static const unsigned long offset = [] {
    threadgroup_bytes += (sizeof(T) + 15) / 16 * 16;
    if (threadgroup_bytes > THREADGROUP_BYTES)
      simt_complain("limit", 0, "more than 32 KiB of threadgroup memory");
    return simt_reserve_shared(sizeof(T));
  }();
  return *reinterpret_cast<T*>(simt_shared_base() + offset);
}

// Brings a value to the lanes that are at the call; `read` takes from the snapshot of all.
template <typename T, typename F>
SIMT_RAW auto exchange(const T& value, unsigned long site, F read) {
  static_assert(sizeof(T) <= 16, "a lane brings up to 16 bytes");
  unsigned long words[2] = {0, 0};
  __builtin_memcpy(words, &value, sizeof value);
  Snapshot* all = simt_exchange(1, 0, words[0], words[1], site);
  auto result = read(*all);
  simt_release(all);
  return result;
}

template <typename T> SIMT_RAW T word_of(const Snapshot& all, int lane) {
  T value;
  __builtin_memcpy(static_cast<void*>(&value), all.words[lane], sizeof value);
  return value;
}

inline bool is_active(const Snapshot& all, int lane) {
  return lane >= 0 && lane < 32 && all.active >> lane & 1;
}

}  // namespace simt

namespace metal {

enum class mem_flags : uint {
  mem_none = 0, mem_device = 1, mem_threadgroup = 2, mem_texture = 4,
  mem_threadgroup_imageblock = 8, mem_object_data = 16, mem_device_and_threadgroup = 3,
};
constexpr mem_flags operator|(mem_flags a, mem_flags b) {
  return static_cast<mem_flags>(static_cast<uint>(a) | static_cast<uint>(b));
}
enum memory_order {
  memory_order_relaxed, memory_order_acquire, memory_order_release, memory_order_acq_rel,
  memory_order_seq_cst,
};
enum thread_scope {
  thread_scope_thread, thread_scope_simdgroup, thread_scope_threadgroup, thread_scope_device,
};

SIMT_COLLECTIVE inline void threadgroup_barrier(mem_flags, thread_scope = thread_scope_threadgroup) {
  simt::simt_barrier(SIMT_SITE, 0, 0);
}
SIMT_COLLECTIVE inline void simdgroup_barrier(mem_flags, thread_scope = thread_scope_simdgroup) {
  simt::exchange(0, SIMT_SITE, [](const simt::Snapshot&) { return 0; });
}
inline void atomic_thread_fence(mem_flags, memory_order, thread_scope = thread_scope_device) {
  simt::simt_fence();
}

// ---- reductions and scans over the lanes that are at the call

// A reduction over the active ones of ``n`` lanes from the lane ``first`` on, which may use the
// own lane's number ``own``.
#define MSL_REDUCTION_OVER(name, first, n, ...)                                         \
  template <typename T> SIMT_COLLECTIVE T name(T value) {                               \
    [[maybe_unused]] const int own = simt::simt_lane();                                 \
    const int begin = (first);                                                          \
    return simt::exchange(value, SIMT_SITE, [begin](const simt::Snapshot& all) {        \
      T a{};                                                                            \
      bool is_first = true;                                                             \
      for (int lane = begin; lane < begin + (n); ++lane) {                              \
        if (!simt::is_active(all, lane)) continue;                                      \
        const T b = simt::word_of<T>(all, lane);                                        \
        a = is_first ? b : static_cast<T>(__VA_ARGS__);                                 \
        is_first = false;                                                               \
      }                                                                                 \
      return a;                                                                         \
    });                                                                                 \
  }
#define MSL_REDUCTION(name, ...) MSL_REDUCTION_OVER(name, 0, 32, __VA_ARGS__)
MSL_REDUCTION(simd_sum, a + b)
MSL_REDUCTION(simd_product, a * b)
MSL_REDUCTION(simd_min, min(a, b))
MSL_REDUCTION(simd_max, max(a, b))
MSL_REDUCTION(simd_and, a & b)
MSL_REDUCTION(simd_or, a | b)
MSL_REDUCTION(simd_xor, a ^ b)

#define MSL_SCAN(name, first, is_before, ...)                                           \
  template <typename T> SIMT_COLLECTIVE T name(T value) {                               \
    const int me = simt::simt_lane();                                                   \
    return simt::exchange(value, SIMT_SITE, [me](const simt::Snapshot& all) {           \
      T a(first);                                                                       \
      for (int lane = 0; lane is_before me; ++lane) {                                   \
        if (!simt::is_active(all, lane)) continue;                                      \
        const T b = simt::word_of<T>(all, lane);                                        \
        a = static_cast<T>(__VA_ARGS__);                                                \
      }                                                                                 \
      return a;                                                                         \
    });                                                                                 \
  }
MSL_SCAN(simd_prefix_inclusive_sum, 0, <=, a + b)
MSL_SCAN(simd_prefix_exclusive_sum, 0, <, a + b)
MSL_SCAN(simd_prefix_inclusive_product, 1, <=, a * b)
MSL_SCAN(simd_prefix_exclusive_product, 1, <, a * b)

// ---- shuffles

}  // namespace metal

namespace simt {

// The value of another lane; none is there where that has left or is elsewhere.
template <typename T>
SIMT_RAW T from_lane(const T& value, int lane, unsigned long site, bool is_own_beyond = false) {
  return exchange(value, site, [&](const Snapshot& all) {
    if (is_active(all, lane)) return word_of<T>(all, lane);
    if (!is_own_beyond || (lane >= 0 && lane < 32))
      simt_complain("lane", site, "a lane reads from one that is not at the call");
    return value;
  });
}

// Data and filling of the lane's section of `width` lanes as one row: data of the lane at `from`,
// or, outside of the section, the filling of the lane that many places into it.
template <typename T>
SIMT_RAW T filled(const T& data, const T& filling, int from, int low, int width, unsigned long site) {
  const bool is_inside = from >= low && from < low + width;
  const int wrapped = from < low ? from + width : from - width;
  T result = filling;
  exchange(data, site, [&](const Snapshot& all) {
    if (is_inside && is_active(all, from)) result = word_of<T>(all, from);
    return 0;
  });
  return exchange(filling, site, [&](const Snapshot& all) {
    return !is_inside && is_active(all, wrapped) ? word_of<T>(all, wrapped) : result;
  });
}

}  // namespace simt

namespace metal {

#define MSL_SHUFFLE(name, lane, is_own_beyond)                                          \
  template <typename T> SIMT_COLLECTIVE T name(T value, ushort at) {                    \
    const int me = simt::simt_lane(), by = at;                                          \
    return simt::from_lane(value, lane, SIMT_SITE, is_own_beyond);                      \
  }
MSL_SHUFFLE(simd_shuffle, by, false)
MSL_SHUFFLE(simd_broadcast, by, false)
MSL_SHUFFLE(simd_shuffle_down, me + by, true)
MSL_SHUFFLE(simd_shuffle_up, me - by, true)
MSL_SHUFFLE(simd_shuffle_xor, me ^ by, false)
MSL_SHUFFLE(simd_shuffle_rotate_down, (me + by) & 31, false)
MSL_SHUFFLE(simd_shuffle_rotate_up, (me - by) & 31, false)
MSL_SHUFFLE(quad_shuffle, (me & ~3) + by, false)
MSL_SHUFFLE(quad_broadcast, (me & ~3) + by, false)
MSL_SHUFFLE(quad_shuffle_xor, me ^ (by & 3), false)
MSL_SHUFFLE(quad_shuffle_down, (me & 3) + by < 4 ? me + by : me, false)
MSL_SHUFFLE(quad_shuffle_up, (me & 3) >= by ? me - by : me, false)
MSL_SHUFFLE(quad_shuffle_rotate_down, (me & ~3) + ((me + by) & 3), false)
MSL_SHUFFLE(quad_shuffle_rotate_up, (me & ~3) + ((me - by) & 3), false)

template <typename T>
SIMT_COLLECTIVE T simd_shuffle_and_fill_down(T data, T filling, ushort by, ushort width = 32) {
  const int me = simt::simt_lane();
  return simt::filled(data, filling, me + by, me / width * width, width, SIMT_SITE);
}
template <typename T>
SIMT_COLLECTIVE T simd_shuffle_and_fill_up(T data, T filling, ushort by, ushort width = 32) {
  const int me = simt::simt_lane();
  return simt::filled(data, filling, me - by, me / width * width, width, SIMT_SITE);
}
template <typename T> SIMT_COLLECTIVE T simd_broadcast_first(T value) {
  return simt::exchange(value, SIMT_SITE, [](const simt::Snapshot& all) {
    return simt::word_of<T>(all, __builtin_ctzll(all.active));
  });
}

#define MSL_QUAD(name, ...) MSL_REDUCTION_OVER(name, own & ~3, 4, __VA_ARGS__)
MSL_QUAD(quad_sum, a + b)
MSL_QUAD(quad_product, a * b)
MSL_QUAD(quad_min, min(a, b))
MSL_QUAD(quad_max, max(a, b))

// ---- votes

struct simd_vote {
  using vote_t = ulong;
  vote_t bits;
  simd_vote(vote_t given = 0) : bits(given) {}
  explicit operator vote_t() const { return bits; }
  bool all() const { return bits == 0xffffffffu; }
  bool any() const { return bits != 0; }
};

}  // namespace metal

namespace simt {

SIMT_RAW inline unsigned long votes(bool vote, unsigned long site) {
  return exchange(vote, site, [](const Snapshot& all) {
    unsigned long bits = 0;
    for (int lane = 0; lane < 32; ++lane)
      if (is_active(all, lane) && word_of<bool>(all, lane)) bits |= 1ul << lane;
    return bits;
  });
}

}  // namespace simt

namespace metal {

SIMT_COLLECTIVE inline simd_vote simd_ballot(bool vote) { return simt::votes(vote, SIMT_SITE); }
SIMT_COLLECTIVE inline bool simd_any(bool vote) { return simt::votes(vote, SIMT_SITE) != 0; }
SIMT_COLLECTIVE inline bool simd_all(bool vote) { return simt::votes(!vote, SIMT_SITE) == 0; }
SIMT_COLLECTIVE inline simd_vote simd_active_threads_mask() { return simt::votes(true, SIMT_SITE); }
SIMT_COLLECTIVE inline bool simd_is_first() {
  return __builtin_ctzll(simt::votes(true, SIMT_SITE)) == simt::simt_lane();
}
inline bool simd_is_helper_thread() { return false; }

// ---- matrices of 8 by 8 that the 32 lanes of a simdgroup hold, two elements each
// The places of a lane's elements are those that MLX's kernels rely on (mlx/steel/gemm/mma.h).

template <typename T, int R = 8, int C = 8> struct simdgroup_matrix {
  static_assert(R == 8 && C == 8, "simdgroup matrices are 8 by 8");
  vec<T, 2> held;
  simdgroup_matrix() = default;
  explicit simdgroup_matrix(T diagonal) {
    const int row = row_of(simt::simt_lane()), column = column_of(simt::simt_lane());
    held = vec<T, 2>(row == column ? diagonal : T(0), row == column + 1 ? diagonal : T(0));
  }
  vec<T, 2>& thread_elements() { return held; }
  const vec<T, 2>& thread_elements() const { return held; }
  static int row_of(int lane) { return (lane / 4 & 4) + lane / 2 % 4; }
  static int column_of(int lane) { return (lane / 4 & 2) * 2 + lane % 2 * 2; }
  static int lane_of(int row, int column) {
    return (row & 4) * 4 + (column & 4) * 2 + row % 4 * 2 + column / 2 % 2;
  }
};
using simdgroup_float8x8 = simdgroup_matrix<float>;
using simdgroup_half8x8 = simdgroup_matrix<half>;
using simdgroup_bfloat8x8 = simdgroup_matrix<bfloat>;

template <typename T, int C, int R> simdgroup_matrix<T, C, R> make_filled_simdgroup_matrix(T value) {
  simdgroup_matrix<T, C, R> made;
  made.held = vec<T, 2>(value, value);
  return made;
}

}  // namespace metal

namespace simt {

// Where element `k` of the calling lane lies in memory.
inline unsigned long element_at(int k, unsigned long stride, metal::ulong2 origin, bool is_transposed) {
  using Matrix = metal::simdgroup_matrix<float>;
  unsigned long row = Matrix::row_of(simt_lane()), column = Matrix::column_of(simt_lane()) + k;
  if (is_transposed) metal::swap(row, column);
  return (row + origin.y) * stride + column + origin.x;
}

// Both factors go to the other lanes at once, and a lane reads only what its two sums need: matrix
// products are most of what such kernels do.
template <typename D, typename A, typename B, typename C>
SIMT_RAW void multiply(D& d, const A& a, const B& b, const C* c, unsigned long site) {
  using T = metal::remove_reference_t<decltype(d.held[0])>;
  const metal::float4 pairs(metal::float2(a.held), metal::float2(b.held));
  exchange(pairs, site, [&](const Snapshot& lanes) {
    if (lanes.active != 0xffffffffu)
      simt_complain("lane", site, "a simdgroup's matrix needs all of its 32 lanes");
    const auto of = [&](int row, int column) {
      return reinterpret_cast<const float*>(lanes.words[D::lane_of(row, column)]);
    };
    const int row = D::row_of(simt_lane()), column = D::column_of(simt_lane());
    float sums[2] = {};
    for (int k = 0; c && k < 2; ++k) sums[k] = static_cast<float>(c->held[k]);
    for (int i = 0; i < 8; ++i) {
      const float left = of(row, i)[i % 2];
      const float* right = of(i, column) + 2;
      for (int k = 0; k < 2; ++k) sums[k] += left * right[k];
    }
    for (int k = 0; k < 2; ++k) d.held[k] = static_cast<T>(sums[k]);
    return 0;
  });
}

}  // namespace simt

#pragma clang attribute pop

namespace metal {

template <typename T, typename S>
void simdgroup_load(simdgroup_matrix<T>& m, const S* from, ulong stride = 8,
                    ulong2 origin = ulong2(0, 0), bool is_transposed = false) {
  for (int k = 0; k < 2; ++k)
    m.held[k] = static_cast<T>(from[simt::element_at(k, stride, origin, is_transposed)]);
}
template <typename T, typename S>
void simdgroup_store(const simdgroup_matrix<T>& m, S* to, ulong stride = 8,
                     ulong2 origin = ulong2(0, 0), bool is_transposed = false) {
  for (int k = 0; k < 2; ++k)
    to[simt::element_at(k, stride, origin, is_transposed)] = static_cast<S>(m.held[k]);
}
#pragma clang attribute push(__attribute__((no_sanitize("thread"), convergent)), apply_to = function)
template <typename D, typename A, typename B, typename C>
SIMT_COLLECTIVE void simdgroup_multiply_accumulate(
    simdgroup_matrix<D>& d, const simdgroup_matrix<A>& a, const simdgroup_matrix<B>& b,
    const simdgroup_matrix<C>& c) {
  simt::multiply(d, a, b, &c, SIMT_SITE);
}
template <typename D, typename A, typename B>
SIMT_COLLECTIVE void simdgroup_multiply(simdgroup_matrix<D>& d, const simdgroup_matrix<A>& a,
                                        const simdgroup_matrix<B>& b) {
  simt::multiply(d, a, b, static_cast<simdgroup_matrix<D>*>(nullptr), SIMT_SITE);
}
template <typename T> SIMT_COLLECTIVE simdgroup_matrix<T> operator*(
    const simdgroup_matrix<T>& a, const simdgroup_matrix<T>& b) {
  simdgroup_matrix<T> product;
  simt::multiply(product, a, b, static_cast<simdgroup_matrix<T>*>(nullptr), SIMT_SITE);
  return product;
}
#pragma clang attribute pop

}  // namespace metal

#undef MSL_REDUCTION
#undef MSL_REDUCTION_OVER
#undef MSL_SCAN
#undef MSL_SHUFFLE
#undef MSL_QUAD
