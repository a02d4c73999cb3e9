// CUDA's runtime header for the emulation.
#pragma once
#ifndef SIMT_IS_HIP
#define SIMT_IS_HIP 0
#endif
#define __CUDACC__ 1
#define __NVCC__ 1
#define CUDART_VERSION 12000
// Guards of the runtime's headers, which programs ask for.
#define __CUDA_RUNTIME_H__
#define __CUDA_RUNTIME_API_H__
#define __DRIVER_TYPES_H__
#define __VECTOR_TYPES_H__
using SIMT_MASK = unsigned;
using SIMT_BALLOT = unsigned;
#include "simt/core.h"
#include "simt/intrinsics.h"
#define WORDS(name) name
#include "libraries/words.h"
#include "simt/vectors.h"
#include "simt/warp.h"
#define API(name) cuda##name
#include "simt/api.h"
#define API_MAKE(name) make_cuda##name
#include "simt/arrays.h"
#include "simt/texture.h"
#undef API_MAKE
#undef API
using cudaError = cudaError_t;
// Names of CUDA before 4.0.
inline cudaError_t cudaThreadSynchronize() { return cudaDeviceSynchronize(); }
inline cudaError_t cudaThreadExit() { return cudaDeviceReset(); }
inline cudaError_t cudaThreadSetCacheConfig(cudaFuncCache) { return cudaSuccess; }
inline cudaError_t cudaThreadSetLimit(cudaLimit limit, std::size_t n) { return cudaDeviceSetLimit(limit, n); }
struct cudaDeviceProp { API_DEVICE_FIELDS };
inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int d) { return cudaFillProperties(p, d); }
enum cudaDeviceAttr {
  cudaDevAttrMaxThreadsPerBlock = 1, cudaDevAttrMaxSharedMemoryPerBlock = 8, cudaDevAttrWarpSize = 10,
  cudaDevAttrMultiProcessorCount = 16, cudaDevAttrComputeCapabilityMajor = 75,
  cudaDevAttrComputeCapabilityMinor = 76, cudaDevAttrCooperativeLaunch = 95,
  cudaDevAttrConcurrentManagedAccess = 89, cudaDevAttrComputeMode = 20, cudaDevAttrIntegrated = 18,
  cudaDevAttrClockRate = 13, cudaDevAttrMemoryClockRate = 36, cudaDevAttrGlobalMemoryBusWidth = 37,
  cudaDevAttrL2CacheSize = 38, cudaDevAttrMaxRegistersPerBlock = 12,
  cudaDevAttrMaxSharedMemoryPerMultiprocessor = 81, cudaDevAttrMaxThreadsPerMultiProcessor = 39,
  cudaDevAttrCanMapHostMemory = 19, cudaDevAttrUnifiedAddressing = 41, cudaDevAttrManagedMemory = 83,
  cudaDevAttrConcurrentKernels = 31, cudaDevAttrPageableMemoryAccess = 88,
  cudaDevAttrMemoryPoolsSupported = 115, cudaDevAttrStreamPrioritiesSupported = 78,
};
enum cudaComputeMode { cudaComputeModeDefault, cudaComputeModeExclusive, cudaComputeModeProhibited };
inline cudaError_t cudaDeviceGetAttribute(int* v, cudaDeviceAttr a, int) {
  switch (a) {
    case cudaDevAttrMaxThreadsPerBlock: *v = 1024; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *v = 49152; break;
    case cudaDevAttrWarpSize: *v = simt::simt_width(); break;
    case cudaDevAttrMultiProcessorCount: *v = 4; break;
    case cudaDevAttrComputeCapabilityMajor: *v = 9; break;
    case cudaDevAttrComputeCapabilityMinor:
    case cudaDevAttrComputeMode:
    case cudaDevAttrPageableMemoryAccess:
    case cudaDevAttrIntegrated: *v = 0; break;
    default: *v = 1;
  }
  return cudaSuccess;
}
#define cudaStreamDefault 0u
#define cudaStreamNonBlocking 1u
#define cudaStreamLegacy nullptr
#define cudaStreamPerThread nullptr
#define cudaEventDefault 0u
#define cudaEventBlockingSync 1u
#define cudaEventDisableTiming 2u
#define cudaHostAllocDefault 0u
#define cudaHostAllocPortable 1u
#define cudaHostAllocMapped 2u
#define cudaHostRegisterDefault 0u
#define cudaMemAttachGlobal 1u
#define cudaMemAttachHost 2u
#define cudaMemAttachSingle 4u
#define cudaDeviceScheduleAuto 0u
#define cudaDeviceMapHost 8u
#define cudaCpuDeviceId (-1)
