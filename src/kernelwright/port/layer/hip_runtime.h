// HIP's runtime header over CUDA's, so that a port can be built by nvcc and run beside its original.
// Names that only differ are in names.h, which is made from the translator's tables.
#pragma once
#define __HIP__ 1
#define __HIPCC__ 1
#define __HIP_PLATFORM_NVIDIA__ 1
#define HIP_VERSION 70100000
#define HIP_INCLUDE_HIP_HIP_RUNTIME_H
#define HIP_INCLUDE_HIP_HIP_RUNTIME_API_H
#define HIP_INCLUDE_HIP_DRIVER_TYPES_H
#define HIP_INCLUDE_HIP_HIP_VECTOR_TYPES_H
#ifdef __CUDA_ARCH__
#define __HIP_DEVICE_COMPILE__ 1
#endif
#include <cuda_runtime.h>
#ifdef __cplusplus
// Those of CUDA's own headers that use names which are macros below.
#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_profiler_api.h>
#endif
#include <hip/names.h>

#define HIP_SYMBOL(x) x
#define HIP_KERNEL_NAME(...) __VA_ARGS__
#define HIP_DYNAMIC_SHARED(type, name) extern __shared__ type name[];
#define hipLaunchKernelGGL(kernel, grid, block, bytes, stream, ...) \
  kernel<<<grid, block, bytes, stream>>>(__VA_ARGS__)
#define hipLaunchKernel cudaLaunchKernel
#define hipHostMalloc cudaMallocHost
#define hipHostFree cudaFreeHost
#define hipHostMallocDefault cudaHostAllocDefault
#define hipHostMallocPortable cudaHostAllocPortable
#define hipHostMallocMapped cudaHostAllocMapped
#define hipThreadIdx_x threadIdx.x
#define hipThreadIdx_y threadIdx.y
#define hipThreadIdx_z threadIdx.z
#define hipBlockIdx_x blockIdx.x
#define hipBlockIdx_y blockIdx.y
#define hipBlockIdx_z blockIdx.z
#define hipBlockDim_x blockDim.x
#define hipBlockDim_y blockDim.y
#define hipBlockDim_z blockDim.z
#define hipGridDim_x gridDim.x
#define hipGridDim_y gridDim.y
#define hipGridDim_z gridDim.z

#ifdef __cplusplus  // plain C calls the runtime alone
// CUDA 13 takes a location where HIP takes a device.
static inline cudaMemLocation hip_layer_place(int device) {
  cudaMemLocation place;
  place.type = device == cudaCpuDeviceId ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
  place.id = device == cudaCpuDeviceId ? 0 : device;
  return place;
}
#if CUDART_VERSION >= 13000
#define HIP_LAYER_PLACE(device) hip_layer_place(device)
#define HIP_LAYER_NO_FLAGS 0,
#else
#define HIP_LAYER_PLACE(device) device
#define HIP_LAYER_NO_FLAGS
#endif
static inline cudaError_t hipMemPrefetchAsync(const void* at, size_t bytes, int device,
                                              cudaStream_t stream = nullptr) {
  return cudaMemPrefetchAsync(at, bytes, HIP_LAYER_PLACE(device), HIP_LAYER_NO_FLAGS stream);
}
static inline cudaError_t hipMemAdvise(const void* at, size_t bytes, cudaMemoryAdvise advice,
                                       int device) {
  return cudaMemAdvise(at, bytes, advice, HIP_LAYER_PLACE(device));
}

// Warp operations without masks are of the lanes that are together here, as on AMD.
__device__ static inline unsigned __lane_id() {
  unsigned lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}
__device__ static inline unsigned long long hip_layer_ballot(int predicate) {
  return __ballot_sync(__activemask(), predicate);
}
#define __ballot(predicate) hip_layer_ballot(predicate)
#define __any(predicate) __any_sync(__activemask(), predicate)
#define __all(predicate) __all_sync(__activemask(), predicate)
// Functions, not macros: programs have macros of these names.
#define HIP_LAYER_SHUFFLE(name)                                                              \
  template <typename T> __device__ static inline T name(T value, int lane, int width = 32) { \
    return name##_sync(__activemask(), value, lane, width);                                  \
  }
HIP_LAYER_SHUFFLE(__shfl)
HIP_LAYER_SHUFFLE(__shfl_up)
HIP_LAYER_SHUFFLE(__shfl_down)
HIP_LAYER_SHUFFLE(__shfl_xor)
#undef HIP_LAYER_SHUFFLE

// Orders and scopes are those of CUDA's atomics, which are relaxed and device-wide.
#define __HIP_MEMORY_SCOPE_SINGLETHREAD 1
#define __HIP_MEMORY_SCOPE_WAVEFRONT 2
#define __HIP_MEMORY_SCOPE_WORKGROUP 3
#define __HIP_MEMORY_SCOPE_AGENT 4
#define __HIP_MEMORY_SCOPE_SYSTEM 5
#define __hip_atomic_fetch_add(p, v, order, scope) atomicAdd(p, v)
#define __hip_atomic_fetch_max(p, v, order, scope) atomicMax(p, v)
#define __hip_atomic_fetch_min(p, v, order, scope) atomicMin(p, v)
#define __hip_atomic_fetch_and(p, v, order, scope) atomicAnd(p, v)
#define __hip_atomic_fetch_or(p, v, order, scope) atomicOr(p, v)
#define __hip_atomic_fetch_xor(p, v, order, scope) atomicXor(p, v)
#define __hip_atomic_exchange(p, v, order, scope) atomicExch(p, v)
template <typename T> __device__ static inline T hip_layer_load(const T* from) {
  return *const_cast<const volatile T*>(from);
}
template <typename T, typename U> __device__ static inline void hip_layer_store(T* to, U value) {
  *const_cast<volatile T*>(to) = value;
}
#define __hip_atomic_load(p, order, scope) hip_layer_load(p)
#define __hip_atomic_store(p, v, order, scope) hip_layer_store(p, v)
#define __builtin_amdgcn_s_sleep(n) __nanosleep(32 * (n))
#define unsafeAtomicAdd atomicAdd
#define amd_mixed_dot(a, b, c, saturate) __dp4a(a, b, c)
#endif  // __cplusplus
