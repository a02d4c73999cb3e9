// CUB for the emulation.
#pragma once
#include "cuda_runtime.h"
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <type_traits>
#include <utility>
#include <vector>

#define CUB_ERROR cudaError_t
#define CUB_SUCCESS cudaSuccess
#define CUB_STREAM cudaStream_t
namespace cub {
#include "../libraries/cub.h"
}
#undef CUB_ERROR
#undef CUB_SUCCESS
#undef CUB_STREAM
