// Reductions of CUDA's cooperative groups for the emulation: those of tiles and of coalesced threads.
#pragma once
#include "../cooperative_groups.h"
namespace cooperative_groups {
#define SIMT_OPERATION(name, expression) \
  template <typename T> struct name { T operator()(T a, T b) const { return expression; } };
SIMT_OPERATION(plus, a + b)
SIMT_OPERATION(less, a < b ? a : b)
SIMT_OPERATION(greater, a > b ? a : b)
SIMT_OPERATION(bit_and, a & b)
SIMT_OPERATION(bit_or, a | b)
SIMT_OPERATION(bit_xor, a ^ b)
#undef SIMT_OPERATION
template <typename Tile, typename T, typename F> T reduce(const Tile& tile, T value, F f) {
  for (unsigned bit = tile.size() / 2; bit > 0; bit /= 2) value = f(value, tile.shfl_xor(value, bit));
  return value;
}
template <typename T, typename F> T reduce(const coalesced_group& group, T value, F f) {
  T all = group.shfl(value, 0);
  for (unsigned rank = 1; rank < group.size(); ++rank) all = f(all, group.shfl(value, rank));
  return all;
}
}  // namespace cooperative_groups
