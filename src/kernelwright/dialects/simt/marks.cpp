// Functions that the compiler's sanitizers call when device code reads, writes or indexes.
#include "runtime.h"

using namespace simt;

extern "C" {

#define SITE reinterpret_cast<std::uintptr_t>(__builtin_return_address(0))
#define MARK(name, bytes, write, atomic) \
  void __tsan_##name(void* at) { access(at, bytes, write, atomic, SITE); }
#define MARKS(bytes)                                  \
  MARK(read##bytes, bytes, false, false)              \
  MARK(write##bytes, bytes, true, false)              \
  MARK(unaligned_read##bytes, bytes, false, false)    \
  MARK(unaligned_write##bytes, bytes, true, false)    \
  MARK(volatile_write##bytes, bytes, true, true)      \
  MARK(unaligned_volatile_write##bytes, bytes, true, true) \
  void __tsan_volatile_read##bytes(void* at) {        \
    access(at, bytes, false, true, SITE);             \
    if (machine.in_device) yield_sometimes();         \
  }                                                   \
  void __tsan_unaligned_volatile_read##bytes(void* at) { access(at, bytes, false, true, SITE); }
MARKS(1)
MARKS(2)
MARKS(4)
MARKS(8)
MARKS(16)
void __tsan_read_range(void* at, std::size_t n) { access(at, n, false, false, SITE); }
void __tsan_write_range(void* at, std::size_t n) { access(at, n, true, false, SITE); }
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_read(void**) {}
void __tsan_vptr_update(void**, void*) {}
void* __tsan_memcpy(void* to, const void* from, std::size_t n) {
  access(from, n, false, false, SITE);
  access(to, n, true, false, SITE);
  settle_pending();
  return std::memcpy(to, from, n);
}
void* __tsan_memmove(void* to, const void* from, std::size_t n) {
  access(from, n, false, false, SITE);
  access(to, n, true, false, SITE);
  settle_pending();
  return std::memmove(to, from, n);
}
void* __tsan_memset(void* to, int value, std::size_t n) {
  access(to, n, true, false, SITE);
  settle_pending();
  return std::memset(to, value, n);
}

struct BoundsPlace { const char* file; unsigned line, column; };
void __ubsan_handle_out_of_bounds(BoundsPlace*, std::uintptr_t) {
  if (machine.in_device) complain("out-of-bounds", SITE, "index outside an array");
}
void __ubsan_handle_local_out_of_bounds() {
  if (machine.in_device) complain("out-of-bounds", SITE, "access outside a variable");
}
void __ubsan_handle_shift_out_of_bounds(BoundsPlace*, std::uintptr_t, std::uintptr_t) {
  if (machine.in_device)
    complain("shift", SITE, "a shift by all bits or more: 0 on NVIDIA's GPUs, another value on AMD's");
}

}  // extern "C"
