// The functions of twin.h, by the emulation's runtime; and the call from the host's kernel, whose body
// hands over its arguments, to the lifted kernel of the same name.
#include <dlfcn.h>

#include <string>
#include <unordered_map>

#include "simt/core.h"
#include "words.h"

using namespace simt;

namespace {

u32 along(uint3 v, int axis) { return axis == 0 ? v.x : axis == 1 ? v.y : v.z; }

// All lanes that are converged at the call, and what they brought.
template <typename F>
u32 together(u64 given, std::uintptr_t site, F use) {
  Snapshot* all = simt_exchange(static_cast<int>(Wait::converged), 0, given, 0, site);
  const u32 result = use(*all);
  simt_release(all);
  return result;
}

template <typename F>
u32 folded(const Snapshot& all, u32 members, F join) {
  u32 result = 0;
  bool is_first = true;
  for (int lane = 0; lane < 32; ++lane) {
    if (!((all.active & members) >> lane & 1)) continue;
    const u32 value = static_cast<u32>(all.words[lane][0]);
    result = is_first ? value : join(result, value);
    is_first = false;
  }
  return result;
}

}  // namespace

extern "C" {

u32 twin_thread(int axis) { return along(simt_thread_idx(), axis); }
u32 twin_block(int axis) { return along(simt_block_idx(), axis); }
u32 block_dim(int axis) { return along(simt_block_dim(), axis); }
u32 grid_dim(int axis) { return along(simt_grid_dim(), axis); }
u32 lane_id() { return simt_lane(); }
char* twin_shared() { return simt_shared_base(); }
u64 clock_now() {
  static u64 ticks = 0;
  simt_atomic(nullptr, 0, SIMT_SITE);
  return ticks += 64;
}
void twin_trap() { std::abort(); }
void twin_atomic(const volatile void* at, u64 bytes) { simt_atomic(at, bytes, SIMT_SITE); }
void twin_fence() { simt_fence(); }

void barrier() { simt_barrier(SIMT_SITE, 0, 0); }
u32 barrier_count(bool a) { return simt_barrier(SIMT_SITE, 1, a); }
void twin_meet() { together(0, SIMT_SITE, [](const Snapshot&) { return 0; }); }
void warp_sync(u32 mask) { simt_release(simt_exchange(0, mask, 0, 0, SIMT_SITE)); }
u32 lane_value(u32 a, u32 lane) {
  return together(a, SIMT_SITE, [=](const Snapshot& all) {
    return all.active >> (lane & 31) & 1 ? static_cast<u32>(all.words[lane & 31][0]) : a;
  });
}
u32 ballot(bool a) {
  return together(a, SIMT_SITE, [](const Snapshot& all) {
    u32 result = 0;
    for (int lane = 0; lane < 32; ++lane)
      result |= static_cast<u32>(all.active >> lane & 1 && all.words[lane][0]) << lane;
    return result;
  });
}
u32 match_any(u64 a) {
  return together(a, SIMT_SITE, [=](const Snapshot& all) {
    u32 result = 0;
    for (int lane = 0; lane < 32; ++lane)
      result |= static_cast<u32>(all.active >> lane & 1 && all.words[lane][0] == a) << lane;
    return result;
  });
}

#define REDUCTION(name, type, expression)                                       \
  u32 reduce_##name(u32 given, u32 members) {                                   \
    return together(given, SIMT_SITE, [=](const Snapshot& all) {                \
      return folded(all, members, [](u32 x, u32 y) {                            \
        const type a = static_cast<type>(x), b = static_cast<type>(y);          \
        return static_cast<u32>(expression);                                    \
      });                                                                       \
    });                                                                         \
  }
REDUCTIONS(REDUCTION)

void simt_offload(const void* arguments, std::size_t, std::uintptr_t site) {
  using Lifted = void (*)(const void*);
  static std::unordered_map<std::uintptr_t, Lifted> known;
  Lifted& found = known[site];
  if (!found) {
    Dl_info about{};
    const bool is_named = dladdr(reinterpret_cast<void*>(site), &about) && about.dli_sname;
    const char* name = is_named ? about.dli_sname : "a kernel without a name";
    found = reinterpret_cast<Lifted>(dlsym(RTLD_DEFAULT, (std::string("lifted_") + name).c_str()));
    std::fprintf(stderr, found ? "lifted kernel: %s\n" : "not lifted: %s\n", name);
    if (!found) std::_Exit(96);
  }
  found(arguments);
}

}  // extern "C"
