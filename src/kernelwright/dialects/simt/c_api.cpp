// The runtime API for units of plain C, whose calls have no overloads: the functions that C hosts
// call around kernels of other units.
#include "runtime.h"

using namespace simt;

#define BOTH(result, name, parameters, body) \
  extern "C" result cuda##name parameters body \
  extern "C" result hip##name parameters body
BOTH(int, SetDevice, (int device), { return device ? 101 : 0; })
BOTH(int, GetDevice, (int* device), { return *device = 0; })
BOTH(int, GetDeviceCount, (int* n), { *n = 1; return 0; })
BOTH(int, DeviceSynchronize, (), { return 0; })
BOTH(int, DeviceReset, (), { return 0; })
BOTH(int, GetLastError, (), { return 0; })
BOTH(const char*, GetErrorString, (int error), { return error ? "unknown error" : "no error"; })
BOTH(int, Malloc, (void** at, std::size_t n), { return (*at = simt_allocate(n)) ? 0 : 2; })
BOTH(int, MallocHost, (void** at, std::size_t n), { return (*at = simt_allocate(n)) ? 0 : 2; })
BOTH(int, HostMalloc, (void** at, std::size_t n, unsigned), { return (*at = simt_allocate(n)) ? 0 : 2; })
BOTH(int, Free, (void* at), { simt_free(at); return 0; })
BOTH(int, FreeHost, (void* at), { simt_free(at); return 0; })
BOTH(int, HostFree, (void* at), { simt_free(at); return 0; })
BOTH(int, Memset, (void* at, int value, std::size_t n), { std::memset(at, value, n); return 0; })
BOTH(int, Memcpy, (void* to, const void* from, std::size_t n, int kind), {
  if (kind == 2 && machine.is_idle) return 0;  // 2: from the device to the host
  std::memmove(to, from, n);
  if (kind == 2) simt_note_copy(to, n);
  return 0;
})
extern "C" int cudaThreadSynchronize() { return 0; }
