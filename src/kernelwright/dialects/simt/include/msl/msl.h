// The Metal Shading Language on the emulation, before a kernel's own text, and the call of a kernel.
// Address spaces are erased, but constant memory is const. What they would forbid passes unseen.
#pragma once
#include "msl/types.h"
#include "msl/math.h"
#include "msl/simd.h"
#include "msl/atomic.h"
#include "msl/internal.h"
#include "simt/metal.h"

#pragma clang attribute push(__attribute__((no_sanitize("thread"))), apply_to = function)

namespace simt_metal {

// The numbers of `BUILTINS` in msl.py.
enum Builtin : unsigned {
  thread_in_grid, thread_in_threadgroup, threadgroup_in_grid, threads_per_threadgroup,
  threads_per_grid, threadgroups_per_grid, thread_index, lane, simdgroup_index, simdgroup_width,
  simdgroups, dispatched_threads, dispatched_simdgroups, quadgroup_index, lane_in_quadgroup,
};

inline simt::uint3 builtin(unsigned which, const unsigned* threads, const unsigned* group) {
  const auto block = simt::simt_block_idx(), thread = simt::simt_thread_idx();
  const auto shape = simt::simt_block_dim();
  const unsigned linear = thread.x + shape.x * (thread.y + shape.y * thread.z);
  const auto groups_of = [](unsigned n) { return simt::uint3{(n + 31) / 32, 0, 0}; };
  switch (which) {
    case thread_in_grid:
      return {block.x * group[0] + thread.x, block.y * group[1] + thread.y,
              block.z * group[2] + thread.z};
    case thread_in_threadgroup: return thread;
    case threadgroup_in_grid: return block;
    case threads_per_threadgroup: return shape;
    case threads_per_grid: return {threads[0], threads[1], threads[2]};
    case threadgroups_per_grid: return simt::simt_grid_dim();
    case thread_index: return {linear, 0, 0};
    case lane: return {linear % 32, 0, 0};
    case simdgroup_index: return {linear / 32, 0, 0};
    case simdgroup_width: return {32, 0, 0};
    case simdgroups: return groups_of(shape.x * shape.y * shape.z);
    case dispatched_threads: return {group[0], group[1], group[2]};
    case dispatched_simdgroups: return groups_of(group[0] * group[1] * group[2]);
    case quadgroup_index: return {linear / 4, 0, 0};
    case lane_in_quadgroup: return {linear % 4, 0, 0};
  }
  return {};
}

template <typename P> P as_parameter(simt::uint3 value) {
  if constexpr (metal::is_integral_v<P>) {
    return static_cast<P>(value.x);
  } else {
    P made;
    made[0] = value.x;
    made[1] = value.y;
    if constexpr (P::SIZE == 3) made[2] = value.z;
    return made;
  }
}

template <typename A>
A bind(const Parameter& place, void** buffers, const unsigned* threads, const unsigned* group) {
  using P = metal::remove_cv_t<metal::remove_reference_t<A>>;
  if constexpr (metal::is_pointer_v<P>) return static_cast<P>(buffers[place.index]);
  else if constexpr (metal::is_reference_v<A>) return *static_cast<P*>(buffers[place.index]);
  else return as_parameter<P>(builtin(place.index, threads, group));
}

template <typename A> constexpr unsigned long bytes_read() {
  using P = metal::remove_reference_t<A>;
  if constexpr (metal::is_reference_v<A> && !metal::is_pointer_v<P>) return sizeof(P);
  else return 0;
}

template <unsigned... I> struct Numbers {};
template <typename, unsigned... I> using NumbersOf = Numbers<I...>;

template <typename... A, unsigned... I>
void invoke(void (*kernel)(A...), const Parameter* places, void** buffers, const unsigned* threads,
            const unsigned* group, Numbers<I...>) {
  kernel(bind<A>(places[I], buffers, threads, group)...);
}

// A kernel with the places of its parameters: what its file's last lines are made of.
template <auto Kernel, unsigned... KindsAndIndices> struct Bound;
template <typename... A, void (*Kernel)(A...), unsigned... KindsAndIndices>
struct Bound<Kernel, KindsAndIndices...> {
  static constexpr unsigned given[] = {KindsAndIndices..., 0, 0};
  template <unsigned... I> struct Table {
    static constexpr Parameter places[] = {
        {static_cast<Parameter::Kind>(given[2 * I]), given[2 * I + 1], bytes_read<A>()}..., {}};
    static void call(void** buffers, const unsigned* threads, const unsigned* group) {
      invoke(Kernel, places, buffers, threads, group, Numbers<I...>{});
    }
  };
  template <typename, unsigned... I> using TableOf = Table<I...>;
  using Whole = __make_integer_seq<TableOf, unsigned, sizeof...(A)>;
  static constexpr Entry entry = {Whole::call, Whole::places, sizeof...(A)};
};

}  // namespace simt_metal
#pragma clang attribute pop

// static_cast, which macros.h renames: clang has no conversion between half and bfloat.
template <typename T, typename U> constexpr T msl_static_cast(U&& value) {
  using From = metal::remove_cv_t<metal::remove_reference_t<U>>;
  if constexpr ((metal::is_same_v<T, metal::bfloat> && metal::is_same_v<From, metal::half>) ||
                (metal::is_same_v<T, metal::half> && metal::is_same_v<From, metal::bfloat>)) {
    return static_cast<T>(static_cast<float>(value));
  } else {
    return static_cast<T>(static_cast<U&&>(value));
  }
}

#define device
#define constant const
#define threadgroup
#define thread
#define threadgroup_imageblock
#define ray_data
#define object_data
#define kernel
