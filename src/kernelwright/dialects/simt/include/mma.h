// nvcuda::wmma for the emulation.
#pragma once
#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "libraries/wmma.h"
namespace nvcuda = port_nvcuda;
