// The machine that a lifted kernel's twin runs on: this CPU, by the emulation that runs CUDA programs
// (dialects/simt). Its functions are in twin.cpp. A twin's warp has 32 lanes.
#pragma once

#include "words.h"

#define GENERIC
#define GLOBAL
#define SHARED
#define CONSTANT
#define BANK const u8 *
#define BANK_DATA __attribute__((weak))  // the host's own variable, if it has one
#define KERNEL(name, parameters) __attribute__((noinline)) void name(BANK arguments)
#define ARGUMENTS arguments
#define shared_at(at) ((void *)(twin_shared() + (at)))
#define TRAP twin_trap
#define YIELD() twin_atomic(0, 0)
#define LANES_MEET twin_meet
#define RECONVERGE() ((void)0)
static u32 grid_workspace[4];

// A collective's call must stay one call: its return address says where in the program it stands.
#define COLLECTIVE __attribute__((convergent, noduplicate, nothrow))

u32 twin_thread(int axis) __attribute__((const));
u32 twin_block(int axis) __attribute__((const));
u32 block_dim(int axis) __attribute__((const));
u32 grid_dim(int axis) __attribute__((const));
#define thread_x() twin_thread(0)
#define thread_y() twin_thread(1)
#define thread_z() twin_thread(2)
#define block_x() twin_block(0)
#define block_y() twin_block(1)
#define block_z() twin_block(2)
u32 lane_id(void) __attribute__((const));
u8 *twin_shared(void) __attribute__((const));
u64 clock_now(void);
void twin_trap(void) __attribute__((noreturn));
void twin_atomic(const volatile void *at, u64 bytes);
void twin_fence(void);

COLLECTIVE void barrier(void);
COLLECTIVE u32 barrier_count(bool a);
COLLECTIVE void twin_meet(void);
COLLECTIVE void warp_sync(u32 mask);
COLLECTIVE u32 lane_value(u32 a, u32 lane);
COLLECTIVE u32 ballot(bool a);
COLLECTIVE u32 match_any(u64 a);
#define REDUCTION(name, type, expression) COLLECTIVE u32 reduce_##name(u32 a, u32 members);
REDUCTIONS(REDUCTION)
#undef REDUCTION

// The threads of the emulation take turns, so that plain accesses are atomic.
#define LOAD_STRONG(space, type, at, scope) \
  (twin_atomic((void *)(at), sizeof(type)), *(const volatile type *)(at))
#define STORE_STRONG(space, type, at, value, scope) \
  (twin_atomic((void *)(at), sizeof(type)), (void)(*(volatile type *)(at) = (value)))
#define ATOMIC(operation, space, type, at, value, scope)                                       \
  ({ volatile type *const place = (volatile type *)(at);                                       \
     twin_atomic(place, sizeof(type));                                                         \
     const type old = *place, given = (value);                                                 \
     *place = ATOMIC_##operation;                                                              \
     old; })
#define ATOMIC_add old + given
#define ATOMIC_and old & given
#define ATOMIC_or old | given
#define ATOMIC_xor old ^ given
#define ATOMIC_min old < given ? old : given
#define ATOMIC_max old > given ? old : given
#define ATOMIC_smin (i32)old < (i32)given ? old : given
#define ATOMIC_smax (i32)old > (i32)given ? old : given
#define ATOMIC_exchange given
#define ATOMIC_inc old >= given ? 0 : old + 1
#define ATOMIC_dec old == 0 || old > given ? given : old - 1
#define ATOMIC_FADD(space, type, at, value, scope) ATOMIC(add, space, type, at, value, scope)
#define COMPARE_EXCHANGE(space, type, at, expected, value, scope)                              \
  ({ volatile type *const place = (volatile type *)(at);                                       \
     twin_atomic(place, sizeof(type));                                                         \
     const type old = *place;                                                                  \
     if (old == (expected)) *place = (value);                                                  \
     old; })
#define FENCE(scope) twin_fence()

float sqrtf(float), exp2f(float), log2f(float);
double sqrt(double), sin(double), cos(double);
#define mufu_rcp(a) (1.0f / (a))
#define mufu_rsq(a) ((float)(1.0 / sqrt((double)(a))))
#define mufu_sqrt sqrtf
#define mufu_ex2 exp2f
#define mufu_lg2 log2f
#define mufu_sin(a) ((float)sin(6.283185307179586 * (double)(a)))  // of turns
#define mufu_cos(a) ((float)cos(6.283185307179586 * (double)(a)))
#define mufu_rcp64(a) (1.0 / (a))
#define mufu_rsq64(a) (1.0 / sqrt(a))
// A product of halves is exact in doubles, and a sum that lies between two halves as well.
#define HALF_FMA(a, b, c, k) ((_Float16)((double)a[k] * (double)b[k] + (double)c[k]))
#define fma_h2(a, b, c)                                                                        \
  ({ const h2 left = a, right = b, more = c;                                                   \
     (h2){HALF_FMA(left, right, more, 0), HALF_FMA(left, right, more, 1)}; })
