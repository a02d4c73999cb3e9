// The driver's header for the emulation: its results are the runtime's.
#pragma once
#include "cuda_runtime.h"
using CUresult = cudaError_t;
using CUdevice = int;
using CUcontext = struct CUctx_st*;
using CUdeviceptr = unsigned long long;
using CUstream = cudaStream_t;
constexpr CUresult CUDA_SUCCESS = cudaSuccess, CUDA_ERROR_OUT_OF_MEMORY = cudaErrorMemoryAllocation;
#define DRIVER(name) cu##name
#define POINTER CUdeviceptr
#define CONTEXT CUcontext
#define RESULT CUresult
#include "simt/driver.h"
#undef DRIVER
#undef POINTER
#undef CONTEXT
#undef RESULT
inline CUresult cuDeviceGetCount(int* n) { return cudaGetDeviceCount(n); }
inline CUresult cuDriverGetVersion(int* v) { return cudaDriverGetVersion(v); }
inline CUresult cuMemGetInfo(std::size_t* free, std::size_t* total) { return cudaMemGetInfo(free, total); }
inline CUresult cuMemAlloc(CUdeviceptr* p, std::size_t n) { return cudaMalloc(reinterpret_cast<void**>(p), n); }
inline CUresult cuMemFree(CUdeviceptr p) { return cudaFree(reinterpret_cast<void*>(p)); }
inline CUresult cuGetErrorString(CUresult e, const char** said) { *said = cudaGetErrorString(e); return cudaSuccess; }
inline CUresult cuGetErrorName(CUresult e, const char** said) { *said = cudaGetErrorName(e); return cudaSuccess; }
