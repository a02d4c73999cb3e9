// HIP's runtime header for the emulation.
#pragma once
#ifndef SIMT_IS_HIP
#define SIMT_IS_HIP 1
#endif
#define __HIP__ 1
#define __HIPCC__ 1
#define __HIP_PLATFORM_AMD__ 1
#define HIP_VERSION 70100000
#define HIP_INCLUDE_HIP_HIP_RUNTIME_H
#define HIP_INCLUDE_HIP_HIP_RUNTIME_API_H
#define HIP_INCLUDE_HIP_DRIVER_TYPES_H
#define HIP_INCLUDE_HIP_HIP_VECTOR_TYPES_H
namespace simt {
// HIP 7 refuses 32-bit masks when it compiles; so does the emulation.
struct Mask64 {
  unsigned long long value;
  template <typename T> Mask64(T v) : value(static_cast<unsigned long long>(v)) {
    static_assert(sizeof(T) == 8, "the mask must be a 64-bit integer");
  }
  operator unsigned long long() const { return value; }
};
}  // namespace simt
using SIMT_MASK = simt::Mask64;
using SIMT_BALLOT = unsigned long long;
#include "simt/core.h"
#include "simt/intrinsics.h"
#include "simt/vectors.h"
#include "simt/warp.h"
#define API(name) hip##name
#include "simt/api.h"
#define API_MAKE(name) make_hip##name
#include "simt/arrays.h"
#include "simt/texture.h"
#undef API_MAKE
#undef API
using hipDevice_t = int;
using hipCtx_t = struct hipCtx*;
using hipDeviceptr_t = void*;
#define DRIVER(name) hip##name
#define POINTER hipDeviceptr_t
#define CONTEXT hipCtx_t
#define RESULT hipError_t
#include "simt/driver.h"
#undef DRIVER
#undef POINTER
#undef CONTEXT
#undef RESULT
inline hipError_t hipDrvGetErrorString(hipError_t e, const char** said) { *said = hipGetErrorString(e); return hipSuccess; }
inline hipError_t hipDrvGetErrorName(hipError_t e, const char** said) { *said = hipGetErrorName(e); return hipSuccess; }
struct hipDeviceProp_t { API_DEVICE_FIELDS };
inline hipError_t hipGetDeviceProperties(hipDeviceProp_t* p, int d) { return hipFillProperties(p, d); }
enum hipDeviceAttribute_t {
  hipDeviceAttributeMaxThreadsPerBlock, hipDeviceAttributeMaxSharedMemoryPerBlock,
  hipDeviceAttributeWarpSize, hipDeviceAttributeMultiprocessorCount,
  hipDeviceAttributeComputeCapabilityMajor, hipDeviceAttributeComputeCapabilityMinor,
  hipDeviceAttributeCooperativeLaunch, hipDeviceAttributeConcurrentManagedAccess,
  hipDeviceAttributeImageSupport, hipDeviceAttributeComputeMode, hipDeviceAttributeIntegrated,
  hipDeviceAttributeClockRate, hipDeviceAttributeMemoryClockRate, hipDeviceAttributeMemoryBusWidth,
  hipDeviceAttributeL2CacheSize, hipDeviceAttributeMaxRegistersPerBlock,
  hipDeviceAttributeMaxSharedMemoryPerMultiprocessor, hipDeviceAttributeMaxThreadsPerMultiProcessor,
  hipDeviceAttributeCanMapHostMemory, hipDeviceAttributeUnifiedAddressing,
  hipDeviceAttributeManagedMemory, hipDeviceAttributeConcurrentKernels,
  hipDeviceAttributePageableMemoryAccess, hipDeviceAttributeMemoryPoolsSupported,
  hipDeviceAttributeStreamPrioritiesSupported,
};
enum hipComputeMode { hipComputeModeDefault, hipComputeModeExclusive, hipComputeModeProhibited };
inline hipError_t hipDeviceGetAttribute(int* v, hipDeviceAttribute_t a, int) {
  switch (a) {
    case hipDeviceAttributeMaxThreadsPerBlock: *v = 1024; break;
    case hipDeviceAttributeMaxSharedMemoryPerBlock: *v = 49152; break;
    case hipDeviceAttributeWarpSize: *v = simt::simt_width(); break;
    case hipDeviceAttributeMultiprocessorCount: *v = 4; break;
    case hipDeviceAttributeComputeCapabilityMajor: *v = 9; break;
    case hipDeviceAttributeComputeCapabilityMinor:
    case hipDeviceAttributeComputeMode:
    case hipDeviceAttributePageableMemoryAccess:
    case hipDeviceAttributeIntegrated: *v = 0; break;
#if __HIP_NO_IMAGE_SUPPORT  // given on the command line: as a GPU without image instructions
    case hipDeviceAttributeImageSupport: *v = 0; break;
#endif
    default: *v = 1;
  }
  return hipSuccess;
}
#define HIP_SYMBOL(x) x
#define HIP_KERNEL_NAME(...) __VA_ARGS__
#define hipLaunchKernelGGL(kernel, grid, block, bytes, stream, ...)                  \
  simt::launch(simt::config(grid, block, bytes, stream),                             \
               [&](auto... simt_a) { simt::simt_enter(); kernel(simt_a...); }, __VA_ARGS__)
#define hipStreamDefault 0u
#define hipStreamNonBlocking 1u
#define hipStreamLegacy nullptr
#define hipStreamPerThread nullptr
#define hipEventDefault 0u
#define hipEventBlockingSync 1u
#define hipEventDisableTiming 2u
#define hipHostMallocDefault 0u
#define hipHostAllocDefault 0u
#define hipHostMallocPortable 1u
#define hipHostMallocMapped 2u
#define hipHostRegisterDefault 0u
#define hipMemAttachGlobal 1u
#define hipMemAttachHost 2u
#define hipMemAttachSingle 4u
#define hipDeviceScheduleAuto 0u
#define hipDeviceMapHost 8u
#define hipCpuDeviceId (-1)
