// Scans of CUDA's cooperative groups for the emulation: those of tiles and of coalesced threads.
#pragma once
#include "reduce.h"
namespace cooperative_groups {
template <typename Group, typename T, typename F> T inclusive_scan(const Group& group, T value, F f) {
  T all = group.shfl(value, 0);
  for (unsigned rank = 1; rank < group.size(); ++rank) {
    const T other = group.shfl(value, rank);  // every thread takes part
    if (rank <= group.thread_rank()) all = f(all, other);
  }
  return all;
}
template <typename Group, typename T, typename F> T exclusive_scan(const Group& group, T value, F f) {
  T all = T();
  for (unsigned rank = 0; rank < group.size(); ++rank) {
    const T other = group.shfl(value, rank);
    if (rank < group.thread_rank()) all = rank ? f(all, other) : other;
  }
  return all;
}
template <typename Group, typename T> T inclusive_scan(const Group& group, T value) { return inclusive_scan(group, value, plus<T>()); }
template <typename Group, typename T> T exclusive_scan(const Group& group, T value) { return exclusive_scan(group, value, plus<T>()); }
}  // namespace cooperative_groups
