// Thrust in plain loops, for the emulation and for compile checks where no ROCm is installed: the
// algorithms that programs call most, over device and host vectors, pointers and fancy iterators.
// The emulation runs them as host code. Elsewhere the loops stand in kernels, so that operators
// that programs give are compiled for the device.
// Not covered: placeholders, complex numbers, set operations, vectors with other allocators;
// references to device memory are plain references.
#pragma once
#ifndef SIMT_SITE
#include <hip/hip_runtime.h>
#endif
#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <new>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>
#define THRUST_VERSION 200800
#define THRUST_MAJOR_VERSION 2
#define THRUST_MINOR_VERSION 8
#define THRUST_SUBMINOR_VERSION 0
#define THRUST_HD __host__ __device__
#include "thrust/functions.h"
#include "thrust/memory.h"
#include "thrust/iterators.h"
#include "thrust/random.h"
#include "thrust/loops.h"
#include "thrust/ordered.h"
#include "thrust/bare.h"
#undef THRUST_HD
