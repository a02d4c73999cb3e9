// cuFFT for the emulation.
#pragma once
#define _CUFFT_H_
#include "cuComplex.h"
#include "cuda_runtime.h"
#define FFT(name) cufft##name
#define FFT_C(name) CUFFT_##name
#define FFT_COMPLEX cuComplex
#define FFT_DOUBLE_COMPLEX cuDoubleComplex
#define FFT_STREAM cudaStream_t
#include "libraries/fft.h"
#undef FFT
#undef FFT_C
#undef FFT_COMPLEX
#undef FFT_DOUBLE_COMPLEX
#undef FFT_STREAM
#define CUFFT_FORWARD -1
#define CUFFT_INVERSE 1
