#pragma once
#include "cuda_runtime.h"
#define SIMT_BF16 __nv_bfloat16
#define SIMT_BF162 __nv_bfloat162
#include "simt/bfloat16.h"
