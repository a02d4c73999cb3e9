// A stand-in for AMD's header, under the emulation and for compile checks where no ROCm is installed.
#pragma once
#include <hip/hip_runtime.h>
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <type_traits>
#include <utility>
#include <vector>

#define CUB_ERROR hipError_t
#define CUB_SUCCESS hipSuccess
#define CUB_STREAM hipStream_t
namespace hipcub {
#include "../../libraries/cub.h"
}
#undef CUB_ERROR
#undef CUB_SUCCESS
#undef CUB_STREAM
