// What AMD's header of this name declares, under the emulation and where no ROCm is installed.
#pragma once
#include <hip/hip_runtime.h>
#define SIMT_BF16 __hip_bfloat16
#define SIMT_BF162 __hip_bfloat162
#include "../../simt/bfloat16.h"
