// The host's side of the runtime API, written once. The file that includes it says what API(name)
// makes of a name: cudaName or hipName. Device memory is the host's, and work is done when it is
// given, in the order in which it is given, which every stream allows.
// Not covered: errors of a device, peers, interprocess handles, external memory.
#include <chrono>
#include <ctime>
#include <map>
#include <string>
#include <vector>

#include "simt/core.h"

enum API(Error_t) {
  API(Success) = 0,
  API(ErrorInvalidValue) = 1,
  API(ErrorMemoryAllocation) = 2,
  API(ErrorOutOfMemory) = 2,
  API(ErrorInitializationError) = 3,
  API(ErrorInvalidConfiguration) = 9,
  API(ErrorInvalidSymbol) = 13,
  API(ErrorInvalidDevicePointer) = 17,
  API(ErrorDeinitialized) = 4, API(ErrorCudartUnloading) = 4, API(ErrorNotInitialized) = 3,
  API(ErrorInvalidPitchValue) = 12, API(ErrorInvalidHostPointer) = 16, API(ErrorInvalidTexture) = 18,
  API(ErrorInvalidTextureBinding) = 19, API(ErrorInvalidChannelDescriptor) = 20,
  API(ErrorInvalidMemcpyDirection) = 21, API(ErrorInsufficientDriver) = 35,
  API(ErrorInvalidSurface) = 37, API(ErrorDevicesUnavailable) = 46,
  API(ErrorMissingConfiguration) = 52, API(ErrorPriorLaunchFailure) = 53,
  API(ErrorInvalidDeviceFunction) = 98, API(ErrorInvalidImage) = 200,
  API(ErrorInvalidKernelImage) = 200, API(ErrorInvalidContext) = 201, API(ErrorMapFailed) = 205,
  API(ErrorMapBufferObjectFailed) = 205, API(ErrorUnmapFailed) = 206,
  API(ErrorUnmapBufferObjectFailed) = 206, API(ErrorNoBinaryForGpu) = 209,
  API(ErrorNoKernelImageForDevice) = 209, API(ErrorECCNotCorrectable) = 214,
  API(ErrorECCUncorrectable) = 214, API(ErrorUnsupportedLimit) = 215,
  API(ErrorInvalidSource) = 300, API(ErrorFileNotFound) = 301,
  API(ErrorSharedObjectSymbolNotFound) = 302, API(ErrorSharedObjectInitFailed) = 303,
  API(ErrorOperatingSystem) = 304, API(ErrorInvalidHandle) = 400, API(ErrorNotFound) = 500,
  API(ErrorIllegalAddress) = 700, API(ErrorLaunchOutOfResources) = 701,
  API(ErrorLaunchTimeOut) = 702, API(ErrorLaunchTimeout) = 702,
  API(ErrorPeerAccessAlreadyEnabled) = 704, API(ErrorPeerAccessNotEnabled) = 705,
  API(ErrorSetOnActiveProcess) = 708, API(ErrorHostMemoryAlreadyRegistered) = 712,
  API(ErrorHostMemoryNotRegistered) = 713, API(ErrorStreamCaptureUnsupported) = 900,
  API(ErrorNoDevice) = 100,
  API(ErrorInvalidDevice) = 101,
  API(ErrorInvalidResourceHandle) = 400,
  API(ErrorNotReady) = 600,
  API(ErrorAssert) = 710,
  API(ErrorLaunchFailure) = 719,
  API(ErrorNotSupported) = 801,
  API(ErrorUnknown) = 999,
  API(ErrorProfilerDisabled) = 5, API(ErrorProfilerNotInitialized) = 6,
  API(ErrorProfilerAlreadyStarted) = 7, API(ErrorProfilerAlreadyStopped) = 8,
  API(ErrorContextAlreadyCurrent) = 202, API(ErrorArrayIsMapped) = 207,
  API(ErrorAlreadyMapped) = 208, API(ErrorAlreadyAcquired) = 210, API(ErrorNotMapped) = 211,
  API(ErrorNotMappedAsArray) = 212, API(ErrorNotMappedAsPointer) = 213,
  API(ErrorContextAlreadyInUse) = 216, API(ErrorPeerAccessUnsupported) = 217,
  API(ErrorInvalidKernelFile) = 218, API(ErrorInvalidGraphicsContext) = 219,
  API(ErrorIllegalState) = 401, API(ErrorContextIsDestroyed) = 709,
  API(ErrorCooperativeLaunchTooLarge) = 720, API(ErrorStreamCaptureInvalidated) = 901,
  API(ErrorStreamCaptureMerge) = 902, API(ErrorStreamCaptureUnmatched) = 903,
  API(ErrorStreamCaptureUnjoined) = 904, API(ErrorStreamCaptureIsolation) = 905,
  API(ErrorStreamCaptureImplicit) = 906, API(ErrorCapturedEvent) = 907,
  API(ErrorStreamCaptureWrongThread) = 908, API(ErrorGraphExecUpdateFailure) = 910,
#if !SIMT_IS_HIP  // errors that HIP does not have
  API(ErrorAddressOfConstant) = 22, API(ErrorTextureFetchFailed) = 23,
  API(ErrorTextureNotBound) = 24, API(ErrorSynchronizationError) = 25,
  API(ErrorInvalidFilterSetting) = 26, API(ErrorInvalidNormSetting) = 27,
  API(ErrorMixedDeviceExecution) = 28, API(ErrorNotYetImplemented) = 31,
  API(ErrorMemoryValueTooLarge) = 32, API(ErrorStubLibrary) = 34,
  API(ErrorCallRequiresNewerDriver) = 36, API(ErrorDuplicateVariableName) = 43,
  API(ErrorDuplicateTextureName) = 44, API(ErrorDuplicateSurfaceName) = 45,
  API(ErrorIncompatibleDriverContext) = 49, API(ErrorLaunchMaxDepthExceeded) = 65,
  API(ErrorLaunchFileScopedTex) = 66, API(ErrorLaunchFileScopedSurf) = 67,
  API(ErrorSyncDepthExceeded) = 68, API(ErrorLaunchPendingCountExceeded) = 69,
  API(ErrorDeviceNotLicensed) = 102, API(ErrorSoftwareValidityNotEstablished) = 103,
  API(ErrorStartupFailure) = 127, API(ErrorNvlinkUncorrectable) = 220,
  API(ErrorJitCompilerNotFound) = 221, API(ErrorUnsupportedPtxVersion) = 222,
  API(ErrorJitCompilationDisabled) = 223, API(ErrorUnsupportedExecAffinity) = 224,
  API(ErrorTooManyPeers) = 711, API(ErrorHardwareStackError) = 714,
  API(ErrorIllegalInstruction) = 715, API(ErrorMisalignedAddress) = 716,
  API(ErrorInvalidAddressSpace) = 717, API(ErrorInvalidPc) = 718, API(ErrorNotPermitted) = 800,
  API(ErrorSystemNotReady) = 802, API(ErrorSystemDriverMismatch) = 803,
  API(ErrorCompatNotSupportedOnDevice) = 804, API(ErrorDeviceAlreadyInUse) = 54,
  API(ErrorApiFailureBase) = 10000,
#endif
};
enum API(MemcpyKind) {
  API(MemcpyHostToHost), API(MemcpyHostToDevice), API(MemcpyDeviceToHost),
  API(MemcpyDeviceToDevice), API(MemcpyDefault),
};
enum API(FuncCache) {
  API(FuncCachePreferNone), API(FuncCachePreferShared), API(FuncCachePreferL1), API(FuncCachePreferEqual),
};
enum API(FuncAttribute) {
  API(FuncAttributeMaxDynamicSharedMemorySize) = 8, API(FuncAttributePreferredSharedMemoryCarveout) = 9,
};
enum API(Limit) {
  API(LimitStackSize), API(LimitPrintfFifoSize), API(LimitMallocHeapSize),
};
enum API(StreamCaptureMode) {
  API(StreamCaptureModeGlobal), API(StreamCaptureModeThreadLocal), API(StreamCaptureModeRelaxed),
};
enum API(MemoryAdvise) {
  API(MemAdviseSetReadMostly) = 1, API(MemAdviseUnsetReadMostly), API(MemAdviseSetPreferredLocation),
  API(MemAdviseUnsetPreferredLocation), API(MemAdviseSetAccessedBy), API(MemAdviseUnsetAccessedBy),
};
enum API(MemLocationType) {
  API(MemLocationTypeInvalid), API(MemLocationTypeNone) = 0, API(MemLocationTypeDevice),
  API(MemLocationTypeHost), API(MemLocationTypeHostNuma), API(MemLocationTypeHostNumaCurrent),
};
struct API(MemLocation) { API(MemLocationType) type; int id; };

using API(Stream_t) = struct API(Stream)*;
using API(Event_t) = struct API(EventState)*;
using API(Graph_t) = struct API(GraphState)*;
using API(GraphExec_t) = struct API(GraphState)*;
using API(GraphNode_t) = struct API(NodeState)*;
struct API(Stream) { unsigned flags; int priority; };
struct API(EventState) { std::chrono::steady_clock::time_point at; bool is_recorded; };
struct API(GraphState) { std::vector<std::function<void()>> works; };
struct API(NodeState) { std::size_t index; };
struct API(FuncAttributes) {
  std::size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
  int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, maxDynamicSharedSizeBytes;
};
struct API(PointerAttributes) { int type, device; void *devicePointer, *hostPointer; };

#define API_DEVICE_FIELDS                                                                        \
  char name[256]; std::size_t totalGlobalMem, sharedMemPerBlock, totalConstMem;                  \
  std::size_t sharedMemPerMultiprocessor, sharedMemPerBlockOptin;                                \
  int regsPerBlock, warpSize, maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], clockRate;   \
  int major, minor, multiProcessorCount, maxThreadsPerMultiProcessor, memoryClockRate;           \
  int memoryBusWidth, l2CacheSize, concurrentKernels, cooperativeLaunch, managedMemory;          \
  int canMapHostMemory, unifiedAddressing, integrated, ECCEnabled, deviceOverlap;                \
  int asyncEngineCount, kernelExecTimeoutEnabled, computeMode, pciBusID, pciDeviceID;            \
  int concurrentManagedAccess, pageableMemoryAccess, maxBlocksPerMultiProcessor;                 \
  std::size_t memPitch, textureAlignment, texturePitchAlignment, surfaceAlignment;               \
  int maxTexture1D, maxTexture1DLinear, maxTexture2D[2], maxTexture2DLinear[3], maxTexture3D[3]; \
  int regsPerMultiprocessor, streamPrioritiesSupported, tccDriver, pciDomainID, isMultiGpuBoard; \
  int maxSurface1D, maxSurface2D[2], globalL1CacheSupported, localL1CacheSupported;              \
  int hostNativeAtomicSupported, computePreemptionSupported, singleToDoublePrecisionPerfRatio;   \
  int cooperativeMultiDeviceLaunch, directManagedMemAccessFromHost, multiGpuBoardGroupID;        \
  int canUseHostPointerForRegisteredMem, persistingL2CacheMaxSize, accessPolicyMaxWindowSize;

inline API(Error_t) API(Ok)() { return API(Success); }
inline int& API(Last)() { static int last = 0; return last; }
inline API(Error_t) API(Fail)(API(Error_t) error) { API(Last)() = error; return error; }

namespace simt { extern "C" int simt_take_error(bool forget); }

inline API(Error_t) API(PeekAtLastError)() {
  if (const int error = simt::simt_take_error(true)) API(Last)() = error;
  return static_cast<API(Error_t)>(API(Last)());
}
inline API(Error_t) API(GetLastError)() {
  const auto error = API(PeekAtLastError)();
  API(Last)() = 0;
  return error;
}
inline const char* API(GetErrorString)(API(Error_t) e) {
  switch (static_cast<int>(e)) {
    case 0: return "no error";
    case 1: return "invalid argument";
    case 2: return "out of memory";
    case 9: return "invalid configuration argument";
    case 101: return "invalid device ordinal";
    case 600: return "device not ready";
    default: return "unknown error";
  }
}
inline const char* API(GetErrorName)(API(Error_t) e) { return API(GetErrorString)(e); }

// ---- memory
template <typename T> API(Error_t) API(Malloc)(T** at, std::size_t bytes) {
  *at = static_cast<T*>(simt::simt_allocate(bytes));
  return *at ? API(Success) : API(Fail)(API(ErrorMemoryAllocation));
}
template <typename T> API(Error_t) API(MallocHost)(T** p, std::size_t n, unsigned = 0) { return API(Malloc)(p, n); }
template <typename T> API(Error_t) API(HostAlloc)(T** p, std::size_t n, unsigned) { return API(Malloc)(p, n); }
template <typename T> API(Error_t) API(HostMalloc)(T** p, std::size_t n, unsigned = 0) { return API(Malloc)(p, n); }
template <typename T> API(Error_t) API(MallocManaged)(T** p, std::size_t n, unsigned = 1) { return API(Malloc)(p, n); }
template <typename T, typename S> API(Error_t) API(MallocAsync)(T** p, std::size_t n, S) { return API(Malloc)(p, n); }
template <typename T>
API(Error_t) API(MallocPitch)(T** at, std::size_t* pitch, std::size_t width, std::size_t height) {
  *pitch = (width + 255) / 256 * 256;
  return API(Malloc)(at, *pitch * height);
}
inline API(Error_t) API(Free)(void* at) { simt::simt_free(at); return API(Success); }
inline API(Error_t) API(FreeHost)(void* at) { return API(Free)(at); }
inline API(Error_t) API(HostFree)(void* at) { return API(Free)(at); }
inline API(Error_t) API(FreeAsync)(void* at, API(Stream_t)) { return API(Free)(at); }
inline API(Error_t) API(HostRegister)(void* at, std::size_t n, unsigned) { simt::simt_add_memory(at, n); return API(Success); }
inline API(Error_t) API(HostUnregister)(void* at) { simt::simt_drop_memory(at); return API(Success); }
template <typename T> API(Error_t) API(HostGetDevicePointer)(T** device, void* host, unsigned) {
  *device = static_cast<T*>(host);
  return API(Success);
}
inline API(Error_t) API(MemGetInfo)(std::size_t* free, std::size_t* total) {
  *free = *total = std::size_t{1} << 34;
  return API(Success);
}
inline bool API(IsLeftOut)(API(MemcpyKind) kind) {  // in a run without kernels
  return kind == API(MemcpyDeviceToHost) && simt::simt_is_idle();
}
inline API(Error_t) API(MemcpyAsync)(void* to, const void* from, std::size_t n, API(MemcpyKind) kind, API(Stream_t) s = nullptr) {
  if (API(IsLeftOut)(kind)) return API(Success);
  simt::enqueue(s, [=] {
    std::memmove(to, from, n);
    if (kind == API(MemcpyDeviceToHost)) simt::simt_note_copy(to, n);
  });
  return API(Success);
}
inline API(Error_t) API(Memcpy)(void* to, const void* from, std::size_t n, API(MemcpyKind) kind) {
  if (API(IsLeftOut)(kind)) return API(Success);
  std::memmove(to, from, n);
  if (kind == API(MemcpyDeviceToHost)) simt::simt_note_copy(to, n);
  return API(Success);
}
inline API(Error_t) API(MemcpyPeer)(void* to, int, const void* from, int, std::size_t n) { std::memmove(to, from, n); return API(Success); }
inline API(Error_t) API(Memcpy2DAsync)(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                                       std::size_t width, std::size_t height, API(MemcpyKind) kind, API(Stream_t) s = nullptr) {
  simt::enqueue(s, [=] {
    for (std::size_t row = 0; row < height; ++row)
      API(Memcpy)(static_cast<char*>(to) + row * to_pitch, static_cast<const char*>(from) + row * from_pitch, width, kind);
  });
  return API(Success);
}
inline API(Error_t) API(Memcpy2D)(void* to, std::size_t tp, const void* from, std::size_t fp, std::size_t w, std::size_t h, API(MemcpyKind) k) {
  return API(Memcpy2DAsync)(to, tp, from, fp, w, h, k);
}
inline API(Error_t) API(MemsetAsync)(void* at, int value, std::size_t n, API(Stream_t) s = nullptr) {
  simt::enqueue(s, [=] { std::memset(at, value, n); });
  return API(Success);
}
inline API(Error_t) API(Memset)(void* at, int value, std::size_t n) { std::memset(at, value, n); return API(Success); }
inline API(Error_t) API(Memset2D)(void* at, std::size_t pitch, int value, std::size_t width, std::size_t height) {
  for (std::size_t row = 0; row < height; ++row) std::memset(static_cast<char*>(at) + row * pitch, value, width);
  return API(Success);
}
template <typename T>
API(Error_t) API(MemcpyToSymbol)(const T& symbol, const void* from, std::size_t n, std::size_t offset = 0, API(MemcpyKind) = API(MemcpyHostToDevice)) {
  std::memcpy(reinterpret_cast<char*>(const_cast<std::remove_const_t<T>*>(&symbol)) + offset, from, n);
  return API(Success);
}
template <typename T>
API(Error_t) API(MemcpyToSymbolAsync)(const T& symbol, const void* from, std::size_t n, std::size_t offset, API(MemcpyKind), API(Stream_t) = nullptr) {
  return API(MemcpyToSymbol)(symbol, from, n, offset);
}
template <typename T>
API(Error_t) API(MemcpyFromSymbol)(void* to, const T& symbol, std::size_t n, std::size_t offset = 0, API(MemcpyKind) = API(MemcpyDeviceToHost)) {
  if (API(IsLeftOut)(API(MemcpyDeviceToHost))) return API(Success);
  std::memcpy(to, reinterpret_cast<const char*>(&symbol) + offset, n);
  simt::simt_note_copy(to, n);
  return API(Success);
}
template <typename T> API(Error_t) API(GetSymbolAddress)(void** at, const T& symbol) {
  *at = const_cast<void*>(static_cast<const void*>(&symbol));
  return API(Success);
}
template <typename T> API(Error_t) API(GetSymbolSize)(std::size_t* n, const T&) { *n = sizeof(T); return API(Success); }
template <typename... A> API(Error_t) API(MemPrefetchAsync)(A&&...) { return API(Success); }
template <typename... A> API(Error_t) API(MemAdvise)(A&&...) { return API(Success); }
template <typename... A> API(Error_t) API(MemPrefetchAsync_v2)(A&&...) { return API(Success); }
template <typename... A> API(Error_t) API(MemAdvise_v2)(A&&...) { return API(Success); }
inline API(Error_t) API(PointerGetAttributes)(API(PointerAttributes)* a, const void* at) {
  *a = {2, 0, const_cast<void*>(at), const_cast<void*>(at)};
  return API(Success);
}

// ---- devices
inline API(Error_t) API(DeviceSynchronize)() { return API(PeekAtLastError)(); }
inline API(Error_t) API(DeviceReset)() { return API(Success); }
inline API(Error_t) API(SetDevice)(int d) { return d == 0 ? API(Success) : API(Fail)(API(ErrorInvalidDevice)); }
inline API(Error_t) API(GetDevice)(int* d) { *d = 0; return API(Success); }
inline API(Error_t) API(GetDeviceCount)(int* n) { *n = 1; return API(Success); }
inline API(Error_t) API(SetDeviceFlags)(unsigned) { return API(Success); }
inline API(Error_t) API(DeviceSetLimit)(API(Limit), std::size_t) { return API(Success); }
inline API(Error_t) API(DeviceGetLimit)(std::size_t* n, API(Limit)) { *n = 1 << 20; return API(Success); }
inline API(Error_t) API(DeviceSetCacheConfig)(API(FuncCache)) { return API(Success); }
inline API(Error_t) API(DeviceCanAccessPeer)(int* can, int, int) { *can = 0; return API(Success); }
inline API(Error_t) API(DeviceGetStreamPriorityRange)(int* low, int* high) { *low = 0, *high = -1; return API(Success); }
inline API(Error_t) API(DriverGetVersion)(int* v) { *v = 12000; return API(Success); }
inline API(Error_t) API(RuntimeGetVersion)(int* v) { *v = 12000; return API(Success); }
template <typename P> API(Error_t) API(FillProperties)(P* p, int device) {
  if (device != 0) return API(Fail)(API(ErrorInvalidDevice));
  *p = P{};
  std::snprintf(p->name, sizeof p->name, "simt emulation");
  p->totalGlobalMem = std::size_t{1} << 34, p->sharedMemPerBlock = 49152, p->totalConstMem = 65536;
  p->sharedMemPerMultiprocessor = p->sharedMemPerBlockOptin = 65536, p->regsPerBlock = 65536;
  p->warpSize = simt::simt_width(), p->maxThreadsPerBlock = 1024, p->clockRate = 1000000;
  p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024, p->maxThreadsDim[2] = 64;
  p->maxGridSize[0] = 2147483647, p->maxGridSize[1] = p->maxGridSize[2] = 65535;
  p->major = 9, p->multiProcessorCount = 4, p->maxThreadsPerMultiProcessor = 2048;
  p->memoryClockRate = 1000000, p->memoryBusWidth = 1024, p->l2CacheSize = 1 << 22;
  p->concurrentKernels = p->cooperativeLaunch = p->managedMemory = p->canMapHostMemory = 1;
  p->unifiedAddressing = p->asyncEngineCount = p->concurrentManagedAccess = 1;
  p->maxBlocksPerMultiProcessor = 16, p->regsPerMultiprocessor = 65536;
  p->memPitch = 2147483647, p->textureAlignment = 512, p->texturePitchAlignment = 32;
  p->surfaceAlignment = 512, p->maxTexture1D = p->maxTexture2D[0] = p->maxTexture2D[1] = 65536;
  p->maxTexture1DLinear = 1 << 27, p->maxSurface1D = p->maxSurface2D[0] = p->maxSurface2D[1] = 32768;
  for (int& extent : p->maxTexture3D) extent = 16384;
  for (int& extent : p->maxTexture2DLinear) extent = 65536;
  p->deviceOverlap = p->streamPrioritiesSupported = 1;  // memory of the host alone is out of bounds
  p->globalL1CacheSupported = p->localL1CacheSupported = p->computePreemptionSupported = 1;
  p->singleToDoublePrecisionPerfRatio = 2;
  return API(Success);
}

// ---- streams and events
inline API(Error_t) API(StreamCreateWithPriority)(API(Stream_t)* s, unsigned flags, int priority) {
  *s = new API(Stream){flags, priority};
  return API(Success);
}
inline API(Error_t) API(StreamCreate)(API(Stream_t)* s) { return API(StreamCreateWithPriority)(s, 0, 0); }
inline API(Error_t) API(StreamCreateWithFlags)(API(Stream_t)* s, unsigned f) { return API(StreamCreateWithPriority)(s, f, 0); }
inline API(Error_t) API(StreamDestroy)(API(Stream_t) s) { delete s; return API(Success); }
inline API(Error_t) API(StreamSynchronize)(API(Stream_t)) { return API(PeekAtLastError)(); }
inline API(Error_t) API(StreamQuery)(API(Stream_t)) { return API(Success); }
inline API(Error_t) API(StreamWaitEvent)(API(Stream_t), API(Event_t), unsigned = 0) { return API(Success); }
inline API(Error_t) API(StreamGetPriority)(API(Stream_t) s, int* p) { *p = s ? s->priority : 0; return API(Success); }
using API(StreamCallback_t) = void (*)(API(Stream_t), API(Error_t), void*);
using API(HostFn_t) = void (*)(void*);
inline API(Error_t) API(StreamAddCallback)(API(Stream_t) s, API(StreamCallback_t) f, void* data, unsigned) {
  f(s, API(Success), data);
  return API(Success);
}
inline API(Error_t) API(ProfilerStart)() { return API(Success); }
inline API(Error_t) API(ProfilerStop)() { return API(Success); }
inline API(Error_t) API(LaunchHostFunc)(API(Stream_t) s, API(HostFn_t) f, void* data) {
  simt::enqueue(s, [=] { f(data); });
  return API(Success);
}
inline API(Error_t) API(EventCreateWithFlags)(API(Event_t)* e, unsigned) { *e = new API(EventState){}; return API(Success); }
inline API(Error_t) API(EventCreate)(API(Event_t)* e) { return API(EventCreateWithFlags)(e, 0); }
inline API(Error_t) API(EventDestroy)(API(Event_t) e) { delete e; return API(Success); }
inline API(Error_t) API(EventRecord)(API(Event_t) e, API(Stream_t) = nullptr) {
  e->at = std::chrono::steady_clock::now(), e->is_recorded = true;
  return API(Success);
}
inline API(Error_t) API(EventSynchronize)(API(Event_t)) { return API(Success); }
inline API(Error_t) API(EventQuery)(API(Event_t)) { return API(Success); }
inline API(Error_t) API(EventElapsedTime)(float* ms, API(Event_t) a, API(Event_t) b) {
  if (!a->is_recorded || !b->is_recorded) return API(Fail)(API(ErrorInvalidResourceHandle));
  *ms = std::chrono::duration<float, std::milli>(b->at - a->at).count();
  return API(Success);
}

// ---- graphs
inline API(Error_t) API(StreamBeginCapture)(API(Stream_t) s, API(StreamCaptureMode)) { simt::begin_capture(s); return API(Success); }
inline API(Error_t) API(StreamEndCapture)(API(Stream_t) s, API(Graph_t)* g) {
  *g = new API(GraphState){{simt::end_capture(s)}};
  return API(Success);
}
inline API(Error_t) API(GraphCreate)(API(Graph_t)* g, unsigned) { *g = new API(GraphState){}; return API(Success); }
inline API(Error_t) API(GraphInstantiateWithFlags)(API(GraphExec_t)* e, API(Graph_t) g, unsigned long long) {
  *e = new API(GraphState)(*g);
  return API(Success);
}
inline API(Error_t) API(GraphInstantiate)(API(GraphExec_t)* e, API(Graph_t) g, unsigned long long = 0) {
  return API(GraphInstantiateWithFlags)(e, g, 0);
}
inline API(Error_t) API(GraphInstantiate)(API(GraphExec_t)* e, API(Graph_t) g, API(GraphNode_t)*, char*, std::size_t) {
  return API(GraphInstantiateWithFlags)(e, g, 0);
}
inline API(Error_t) API(GraphLaunch)(API(GraphExec_t) e, API(Stream_t)) {
  for (const auto& work : e->works) work();
  return API(Success);
}
inline API(Error_t) API(GraphDestroy)(API(Graph_t) g) { delete g; return API(Success); }
inline API(Error_t) API(GraphExecDestroy)(API(GraphExec_t) e) { delete e; return API(Success); }

// ---- kernels
template <typename F> API(Error_t) API(FuncSetAttribute)(F, API(FuncAttribute), int) { return API(Success); }
template <typename F> API(Error_t) API(FuncSetCacheConfig)(F, API(FuncCache)) { return API(Success); }
template <typename F> API(Error_t) API(FuncGetAttributes)(API(FuncAttributes)* a, F) {
  *a = {0, 0, 0, 1024, 32, 90, 90, 65536};
  return API(Success);
}
template <typename F>
API(Error_t) API(OccupancyMaxActiveBlocksPerMultiprocessor)(int* n, F, int threads, std::size_t) {
  *n = 2048 / (threads ? threads : 1);
  return API(Success);
}
template <typename F>
API(Error_t) API(OccupancyMaxPotentialBlockSize)(int* grid, int* block, F, std::size_t = 0, int = 0) {
  *grid = 8, *block = 256;
  return API(Success);
}
// A launch by pointers to the arguments; the lowering leaves the kernel's own type visible.
template <typename... P, std::size_t... I>
int API(LaunchWith)(simt::Config at, void (*kernel)(P...), void** given, std::index_sequence<I...>) {
  auto held = std::tuple<P...>(*static_cast<P*>(given[I])...);
  auto call = [kernel](P... a) {
    const auto held_kernel = kernel;  // the closure is the host's memory
    simt::simt_enter();
    held_kernel(a...);
  };
  return simt::submit(at, [call, held]() mutable { std::apply(call, held); });
}
template <typename... P>
API(Error_t) API(LaunchKernel)(void (*kernel)(P...), dim3 grid, dim3 block, void** given, std::size_t bytes = 0, API(Stream_t) s = nullptr) {
  const int error = API(LaunchWith)({grid, block, bytes, s, false}, kernel, given, std::index_sequence_for<P...>());
  return static_cast<API(Error_t)>(error);
}
template <typename... P>
API(Error_t) API(LaunchCooperativeKernel)(void (*kernel)(P...), dim3 grid, dim3 block, void** given, std::size_t bytes = 0, API(Stream_t) s = nullptr) {
  const int error = API(LaunchWith)({grid, block, bytes, s, true}, kernel, given, std::index_sequence_for<P...>());
  return static_cast<API(Error_t)>(error);
}
