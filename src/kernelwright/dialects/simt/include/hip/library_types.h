// HIP's kinds of numbers for the emulation.
#pragma once
#define DATA_TYPES hipDataType
#define DATA_TYPE(name) HIP_##name
#include "../libraries/data_types.h"
#undef DATA_TYPES
#undef DATA_TYPE
