// Device code on a CPU: what the emulation offers to lowered CUDA, HIP and Metal text.
// Every thread of a block is a fiber of one OS thread. The runtime (runtime.cpp) schedules them.
// Not covered: hosts other than x86-64 Linux.
#pragma once
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>

#define SIMT_RAW __attribute__((no_sanitize("thread"), noinline))
// A collective's call must stay one call: its return address says where in the program it stands.
#ifdef __clang__
#define SIMT_COLLECTIVE SIMT_RAW __attribute__((convergent, noduplicate))
#else
#define SIMT_COLLECTIVE SIMT_RAW
#endif
#define SIMT_SITE reinterpret_cast<std::uintptr_t>(__builtin_return_address(0))

struct uint3 { unsigned x, y, z; };
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};

namespace simt {

// Who a collective waits for: the lanes of a mask, or all lanes that are converged at the call.
enum class Wait : int { mask = 0, converged = 1 };

struct Snapshot {  // what the lanes of one collective brought
  std::uint64_t active = 0;
  std::uint64_t words[64][2] = {};
  int unread = 0;
};

struct Config {
  dim3 grid, block;
  std::size_t shared_bytes = 0;
  void* stream = nullptr;
  bool is_cooperative = false;
  dim3 threads{0, 0, 0};  // of the whole grid, where its last blocks are partial; 0: all are whole
};

extern "C" {
uint3 simt_thread_idx() __attribute__((const));
uint3 simt_block_idx() __attribute__((const));
uint3 simt_block_dim() __attribute__((const));
uint3 simt_grid_dim() __attribute__((const));
int simt_width() __attribute__((const));
int simt_lane() __attribute__((const));
int simt_in_device();
int simt_is_idle();
void simt_note_copy(const void* at, std::size_t bytes);  // the host has it from the device now
void simt_enter();
int simt_barrier(std::uintptr_t site, int kind, int predicate);
void simt_grid_barrier();
void simt_fence();
void simt_atomic(const volatile void* at, std::size_t bytes, std::uintptr_t site);
void simt_compare(const volatile void* at, std::size_t bytes, const void* expected);
void simt_complain(const char* kind, std::uintptr_t site, const char* detail);
Snapshot* simt_exchange(int kind, std::uint64_t mask, std::uint64_t low, std::uint64_t high,
                        std::uintptr_t site);
void simt_release(Snapshot*);
std::size_t simt_reserve_shared(std::size_t bytes);
char* simt_shared_base();
char* simt_dynamic_base();
std::size_t simt_dynamic_bytes();
void simt_add_memory(const void* at, std::size_t bytes);
void simt_drop_memory(const void* at);
// The allocation that an address is in; 0 if none.
int simt_memory_of(unsigned long long at, unsigned long long* low, unsigned long long* high);
void simt_offload(const void* arguments, std::size_t bytes, std::uintptr_t site);
void* simt_allocate(std::size_t bytes);
void simt_free(void*);
}

// Runs one grid to its end, or records it where its stream is being captured.
// Returns 0, or the runtime's error number of a wrong configuration.
int run(const Config&, std::function<void()> body);
int submit(const Config&, std::function<void()> body);
// Host work in stream order: done at once, or recorded like a launch.
void enqueue(void* stream, std::function<void()> work);
int begin_capture(void* stream);
std::function<void()> end_capture(void* stream);
bool is_capturing(void* stream);

inline Config config(dim3 grid, dim3 block, std::size_t shared_bytes = 0, void* stream = nullptr) {
  return {grid, block, shared_bytes, stream, false};
}

// A launch: `call` invokes the kernel with the copied arguments.
template <typename F, typename... A>
SIMT_RAW int launch(Config at, F call, A&&... given) {
  auto held = std::make_tuple(std::forward<A>(given)...);
  return submit(at, [call, held]() mutable { std::apply(call, held); });
}

// The body of a kernel that another machine runs: its arguments, each at its natural alignment.
template <typename... A>
SIMT_RAW void offload(const A&... given) {
  alignas(16) char packed[4096];
  std::size_t end = 0;
  ((end = (end + alignof(A) - 1) / alignof(A) * alignof(A),
    std::memcpy(packed + end, (const void*)&given, sizeof(A)), end += sizeof(A)),
   ...);
  simt_offload(packed, end, SIMT_SITE);
}

template <typename Array, typename Tag>
SIMT_RAW Array& shared(Tag) {
  static const std::size_t offset = simt_reserve_shared(sizeof(Array));
  return *reinterpret_cast<Array*>(simt_shared_base() + offset);
}

template <typename T>
T (&dynamic_shared())[] {  // `extern __shared__ T name[];` in a function
  return *reinterpret_cast<T(*)[]>(simt_dynamic_base());
}

template <typename T>
struct DynamicShared {  // the same outside functions, where no block runs yet
  operator T*() const { return reinterpret_cast<T*>(simt_dynamic_base()); }
};

struct SharedPlace {  // where a shared variable is in the memory of each block
  SIMT_RAW char* at(std::size_t bytes) const {
    if (!is_known) offset = simt_reserve_shared(bytes), is_known = true;
    return simt_shared_base() + offset;
  }
  mutable std::size_t offset = 0;
  mutable bool is_known = false;
};

template <typename T>
struct StaticShared {  // `__shared__ T name;` outside functions
  constexpr StaticShared() {}
  operator T&() const { return *&*this; }
  T* operator&() const { return reinterpret_cast<T*>(place.at(sizeof(T))); }
  T& operator=(const T& value) const { return *&*this = value; }
  SharedPlace place;
};
template <typename T, std::size_t N>
struct StaticShared<T[N]> {
  constexpr StaticShared() {}
  operator T*() const { return *&*this; }
  template <typename U> explicit operator U*() const { return (U*)(void*)*&*this; }
  T (*operator&() const)[N] { return reinterpret_cast<T(*)[N]>(place.at(sizeof(T) * N)); }
  SharedPlace place;
};

template <typename T>
struct Bits {  // a value of up to 16 bytes as two words
  static_assert(sizeof(T) <= 16, "collectives take values of up to 16 bytes");
  SIMT_RAW static void out(const T& value, std::uint64_t (&words)[2]) {
    words[0] = words[1] = 0;
    std::memcpy(words, &value, sizeof(T));
  }
  SIMT_RAW static T in(const std::uint64_t (&words)[2]) {
    T value;
    std::memcpy(&value, words, sizeof(T));
    return value;
  }
};

}  // namespace simt

struct simt_WarpSize {
  constexpr simt_WarpSize() {}
  operator int() const { return simt::simt_width(); }
};
static constexpr simt_WarpSize warpSize;

// Names that a program may shadow with variables of its own, so no macros.
#define SIMT_COORDINATES(type, name, source)                                   \
  struct type {                                                                \
    constexpr type() {}                                                        \
    unsigned get_x() const { return simt::source().x; }                        \
    unsigned get_y() const { return simt::source().y; }                        \
    unsigned get_z() const { return simt::source().z; }                        \
    __declspec(property(get = get_x)) unsigned x;                              \
    __declspec(property(get = get_y)) unsigned y;                              \
    __declspec(property(get = get_z)) unsigned z;                              \
    operator dim3() const { return simt::source(); }                           \
    operator uint3() const { return simt::source(); }                          \
  };                                                                           \
  static constexpr type name;
SIMT_COORDINATES(simt_ThreadIdx, threadIdx, simt_thread_idx)
SIMT_COORDINATES(simt_BlockIdx, blockIdx, simt_block_idx)
SIMT_COORDINATES(simt_BlockDim, blockDim, simt_block_dim)
SIMT_COORDINATES(simt_GridDim, gridDim, simt_grid_dim)
#undef SIMT_COORDINATES

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __constant__
#define __managed__
#define __grid_constant__
#define __shared__ static
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
