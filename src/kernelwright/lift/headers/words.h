// The words that both machines of a lifted kernel have: numbers by their width, and the reductions of
// a warp. C for the kernels, C++ for twin.cpp.
#pragma once

typedef unsigned char u8;
typedef signed char i8;
typedef unsigned short u16;
typedef short i16;
typedef unsigned int u32;
typedef int i32;
typedef unsigned long u64;
typedef long i64;
#ifndef __cplusplus
#define bool _Bool
#define true 1
#define false 0
#endif
typedef u32 u32x2 __attribute__((ext_vector_type(2)));
typedef u32 u32x4 __attribute__((ext_vector_type(4)));

// REDUCTION(name, type, expression): the expression joins a and b of the type.
#define REDUCTIONS(REDUCTION)           \
  REDUCTION(add, u32, a + b)            \
  REDUCTION(and, u32, a & b)            \
  REDUCTION(or, u32, a | b)             \
  REDUCTION(xor, u32, a ^ b)            \
  REDUCTION(min, u32, a < b ? a : b)    \
  REDUCTION(max, u32, a > b ? a : b)    \
  REDUCTION(smin, i32, a < b ? a : b)   \
  REDUCTION(smax, i32, a > b ? a : b)
