// cuSPARSE for the emulation.
#pragma once
#define CUSPARSE_H_
#include "cuda_runtime.h"
#include "library_types.h"
#define SPARSE_KIND cudaDataType
#define SPARSE_KINDS(name) CUDA_##name
#define SPARSE(name) cusparse##name
#define SPARSE_C(name) CUSPARSE_##name
#include "libraries/sparse.h"
#undef SPARSE
#undef SPARSE_C
#undef SPARSE_KIND
#undef SPARSE_KINDS
