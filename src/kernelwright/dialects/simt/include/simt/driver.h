// Functions of the driver that programs call beside the runtime's: one device, one context. The
// file that includes it says what DRIVER(name) makes of a name, and what POINTER and RESULT are.
// Not covered: modules and launches by name.
inline RESULT DRIVER(Init)(unsigned) { return RESULT{}; }
inline RESULT DRIVER(DeviceGet)(int* d, int) { *d = 0; return RESULT{}; }
inline RESULT DRIVER(DeviceGetName)(char* name, int n, int) { std::snprintf(name, static_cast<std::size_t>(n), "simt emulation"); return RESULT{}; }
inline RESULT DRIVER(DeviceComputeCapability)(int* major, int* minor, int) { *major = 9, *minor = 0; return RESULT{}; }
inline RESULT DRIVER(DeviceTotalMem)(std::size_t* n, int) { *n = std::size_t{1} << 34; return RESULT{}; }
inline RESULT DRIVER(CtxCreate)(CONTEXT* c, unsigned, int) { *c = nullptr; return RESULT{}; }
inline RESULT DRIVER(CtxDestroy)(CONTEXT) { return RESULT{}; }
inline RESULT DRIVER(CtxSetCurrent)(CONTEXT) { return RESULT{}; }
inline RESULT DRIVER(CtxSynchronize)() { return RESULT{}; }
inline RESULT DRIVER(DevicePrimaryCtxRetain)(CONTEXT* c, int) { *c = nullptr; return RESULT{}; }
inline RESULT DRIVER(DevicePrimaryCtxRelease)(int) { return RESULT{}; }
inline RESULT DRIVER(MemcpyHtoD)(POINTER to, const void* from, std::size_t n) { std::memcpy((void*)to, from, n); return RESULT{}; }
inline RESULT DRIVER(MemcpyDtoD)(POINTER to, POINTER from, std::size_t n) { std::memmove((void*)to, (void*)from, n); return RESULT{}; }
inline RESULT DRIVER(MemcpyDtoH)(void* to, POINTER from, std::size_t n) {
  if (simt::simt_is_idle()) return RESULT{};
  std::memcpy(to, (void*)from, n);
  simt::simt_note_copy(to, n);
  return RESULT{};
}
