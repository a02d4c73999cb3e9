// What AMD's header of this name declares, under the emulation and where no ROCm is installed.
#pragma once
#include <hip/hip_bf16.h>
#include <hip/hip_fp16.h>
#define FP8(name) __hip_##name
#define FP8_C(name) __HIP_##name
#include "../../simt/fp8.h"
#undef FP8
#undef FP8_C
