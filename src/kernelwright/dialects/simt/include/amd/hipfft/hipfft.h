// Declarations of hipFFT for compile checks where no ROCm is installed. Nothing can be run.
// Source: hipFFT's API reference, ROCm 6.2.
// Not compared with AMD's own header: a program that compiles with this may not with that.
#pragma once
#define HIPFFT_H_
#include <cstddef>
#include <hip/hip_complex.h>
#include <hip/hip_runtime.h>
enum hipfftResult_t {
  HIPFFT_SUCCESS, HIPFFT_INVALID_PLAN, HIPFFT_ALLOC_FAILED, HIPFFT_INVALID_TYPE, HIPFFT_INVALID_VALUE,
  HIPFFT_INTERNAL_ERROR, HIPFFT_EXEC_FAILED, HIPFFT_SETUP_FAILED, HIPFFT_INVALID_SIZE, HIPFFT_UNALIGNED_DATA,
  HIPFFT_INCOMPLETE_PARAMETER_LIST, HIPFFT_INVALID_DEVICE, HIPFFT_PARSE_ERROR, HIPFFT_NO_WORKSPACE,
  HIPFFT_NOT_IMPLEMENTED, HIPFFT_NOT_SUPPORTED = 16,
};
using hipfftResult = hipfftResult_t;
enum hipfftType_t {
  HIPFFT_R2C = 0x2a, HIPFFT_C2R = 0x2c, HIPFFT_C2C = 0x29, HIPFFT_D2Z = 0x6a, HIPFFT_Z2D = 0x6c, HIPFFT_Z2Z = 0x69,
};
using hipfftType = hipfftType_t;
#define HIPFFT_FORWARD -1
#define HIPFFT_BACKWARD 1
using hipfftHandle = struct hipfftHandle_t*;
using hipfftComplex = hipComplex;
using hipfftDoubleComplex = hipDoubleComplex;
using hipfftReal = float;
using hipfftDoubleReal = double;
extern "C" {
#define FFT(name) hipfftResult hipfft##name
#define FFT_MANY int rank, int* n, int* inembed, int istride, int idist, int* onembed, int ostride, int odist, hipfftType, int batch
FFT(Plan1d)(hipfftHandle*, int nx, hipfftType, int batch);
FFT(Plan2d)(hipfftHandle*, int nx, int ny, hipfftType);
FFT(Plan3d)(hipfftHandle*, int nx, int ny, int nz, hipfftType);
FFT(PlanMany)(hipfftHandle*, FFT_MANY);
FFT(Create)(hipfftHandle*);
FFT(MakePlan1d)(hipfftHandle, int nx, hipfftType, int batch, size_t*);
FFT(MakePlan2d)(hipfftHandle, int nx, int ny, hipfftType, size_t*);
FFT(MakePlan3d)(hipfftHandle, int nx, int ny, int nz, hipfftType, size_t*);
FFT(MakePlanMany)(hipfftHandle, FFT_MANY, size_t*);
FFT(Estimate1d)(int nx, hipfftType, int batch, size_t*);
FFT(Estimate2d)(int nx, int ny, hipfftType, size_t*);
FFT(Estimate3d)(int nx, int ny, int nz, hipfftType, size_t*);
FFT(EstimateMany)(FFT_MANY, size_t*);
FFT(GetSize)(hipfftHandle, size_t*);
FFT(GetVersion)(int*);
FFT(SetStream)(hipfftHandle, hipStream_t);
FFT(SetAutoAllocation)(hipfftHandle, int);
FFT(SetWorkArea)(hipfftHandle, void*);
FFT(ExecC2C)(hipfftHandle, hipfftComplex*, hipfftComplex*, int direction);
FFT(ExecR2C)(hipfftHandle, hipfftReal*, hipfftComplex*);
FFT(ExecC2R)(hipfftHandle, hipfftComplex*, hipfftReal*);
FFT(ExecZ2Z)(hipfftHandle, hipfftDoubleComplex*, hipfftDoubleComplex*, int direction);
FFT(ExecD2Z)(hipfftHandle, hipfftDoubleReal*, hipfftDoubleComplex*);
FFT(ExecZ2D)(hipfftHandle, hipfftDoubleComplex*, hipfftDoubleReal*);
FFT(Destroy)(hipfftHandle);
#undef FFT
#undef FFT_MANY
}
