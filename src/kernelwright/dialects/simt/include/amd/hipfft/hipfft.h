// A stand-in for AMD's header, under the emulation and for compile checks where no ROCm is installed.
// Source of the names: hipFFT's API reference, ROCm 7.0.
#pragma once
#define HIPFFT_H_
#include <hip/hip_complex.h>
#include <hip/hip_runtime.h>
#define FFT(name) hipfft##name
#define FFT_C(name) HIPFFT_##name
#define FFT_COMPLEX hipComplex
#define FFT_DOUBLE_COMPLEX hipDoubleComplex
#define FFT_STREAM hipStream_t
#include "../../libraries/fft.h"
#undef FFT
#undef FFT_C
#undef FFT_COMPLEX
#undef FFT_DOUBLE_COMPLEX
#undef FFT_STREAM
#define HIPFFT_FORWARD -1
#define HIPFFT_BACKWARD 1
