#pragma once
#include "cuda_bf16.h"
#include "cuda_fp16.h"
#define FP8(name) __nv_##name
#define FP8_C(name) __NV_##name
#include "simt/fp8.h"
#undef FP8
#undef FP8_C
