// CUDA's kinds of numbers for the emulation.
#pragma once
#define DATA_TYPES cudaDataType
#define DATA_TYPE(name) CUDA_##name
#include "libraries/data_types.h"
#undef DATA_TYPES
#undef DATA_TYPE
using cudaDataType_t = cudaDataType;
