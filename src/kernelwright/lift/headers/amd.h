// The machine that a lifted kernel runs on: an AMD GPU, by clang's builtins. Source: LLVM's "User
// Guide for AMDGPU Backend": address spaces, implicit arguments. WAVE is 32 or 64, set by the build.
#pragma once

#include "words.h"

#define GENERIC
#define GLOBAL __attribute__((address_space(1)))
#define SHARED __attribute__((address_space(3)))
#define CONSTANT __attribute__((address_space(4)))
#define BANK const CONSTANT u8 *
#define BANK_DATA GLOBAL __attribute__((visibility("protected")))
#define KERNEL(name, parameters)                                                               \
  __attribute__((device_kernel, amdgpu_flat_work_group_size(1, 1024))) void name parameters
#define ARGUMENTS ((BANK)__builtin_amdgcn_kernarg_segment_ptr())
#define TRAP() __builtin_trap()
#define YIELD() __builtin_amdgcn_s_sleep(1)
#define LANES_MEET() ((void)0)
#define RECONVERGE __builtin_amdgcn_wave_barrier  // no instruction, and nothing is moved across it

#define thread_x() __builtin_amdgcn_workitem_id_x()
#define thread_y() __builtin_amdgcn_workitem_id_y()
#define thread_z() __builtin_amdgcn_workitem_id_z()
#define block_x() __builtin_amdgcn_workgroup_id_x()
#define block_y() __builtin_amdgcn_workgroup_id_y()
#define block_z() __builtin_amdgcn_workgroup_id_z()
#define HIDDEN(type, at) (*(const CONSTANT type *)((BANK)__builtin_amdgcn_implicitarg_ptr() + (at)))
#define grid_dim(axis) HIDDEN(u32, 4 * (axis))
#define block_dim(axis) ((u32)HIDDEN(u16, 12 + 2 * (axis)))

#define MEMORY static inline __attribute__((always_inline))

// Of unknown size: the launch sets it. A function, because clang trusts no access to be aligned that
// it sees to be of bytes.
extern SHARED u8 shared_memory[] __attribute__((aligned(16)));
MEMORY SHARED void *shared_at(u32 at) { return shared_memory + at; }

static GLOBAL u32 grid_workspace[4];

MEMORY u64 clock_now(void) { return __builtin_readcyclecounter(); }

#define BLOCK __MEMORY_SCOPE_WRKGRP
#define DEVICE __MEMORY_SCOPE_DEVICE
#define SYSTEM __MEMORY_SCOPE_SYSTEM
#define LOAD_STRONG(space, type, at, scope) \
  __scoped_atomic_load_n((space type *)(at), __ATOMIC_RELAXED, scope)
#define STORE_STRONG(space, type, at, value, scope) \
  __scoped_atomic_store_n((space type *)(at), value, __ATOMIC_RELAXED, scope)
#define RMW(operation, space, type, at, value, scope) \
  __scoped_atomic_##operation((space type *)(at), value, __ATOMIC_RELAXED, scope)
#define ATOMIC(operation, space, type, at, value, scope) \
  ATOMIC_##operation(space, type, at, value, scope)
#define ATOMIC_add(space, type, at, a, scope) RMW(fetch_add, space, type, at, a, scope)
#define ATOMIC_and(space, type, at, a, scope) RMW(fetch_and, space, type, at, a, scope)
#define ATOMIC_or(space, type, at, a, scope) RMW(fetch_or, space, type, at, a, scope)
#define ATOMIC_xor(space, type, at, a, scope) RMW(fetch_xor, space, type, at, a, scope)
#define ATOMIC_min(space, type, at, a, scope) RMW(fetch_min, space, type, at, a, scope)
#define ATOMIC_max(space, type, at, a, scope) RMW(fetch_max, space, type, at, a, scope)
#define ATOMIC_smin(space, type, at, a, scope) (u32)RMW(fetch_min, space, i32, at, (i32)a, scope)
#define ATOMIC_smax(space, type, at, a, scope) (u32)RMW(fetch_max, space, i32, at, (i32)a, scope)
#define ATOMIC_exchange(space, type, at, a, scope) RMW(exchange_n, space, type, at, a, scope)
#define ATOMIC_inc(space, type, at, a, scope) RMW(fetch_uinc, space, type, at, a, scope)
#define ATOMIC_dec(space, type, at, a, scope) RMW(fetch_udec, space, type, at, a, scope)
#define ATOMIC_FADD(space, type, at, a, scope) RMW(fetch_add, space, type, at, a, scope)
#define COMPARE_EXCHANGE(space, type, at, expected, a, scope)                                  \
  ({ type seen = expected;                                                                     \
     __scoped_atomic_compare_exchange_n((space type *)(at), &seen, a, false, __ATOMIC_RELAXED, \
                                        __ATOMIC_RELAXED, scope);                              \
     seen; })
#define FENCE(scope) __scoped_atomic_thread_fence(__ATOMIC_SEQ_CST, scope)

#if WAVE == 64
MEMORY u32 wave_lane(void) {
  return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
}
MEMORY u32 ballot(bool a) { return (u32)(__builtin_amdgcn_ballot_w64(a) >> (wave_lane() & 32)); }
#else
MEMORY u32 wave_lane(void) { return __builtin_amdgcn_mbcnt_lo(~0u, 0u); }
MEMORY u32 ballot(bool a) { return __builtin_amdgcn_ballot_w32(a); }
#endif
MEMORY u32 lane_id(void) { return wave_lane() & 31; }
MEMORY u32 lane_value(u32 a, u32 lane) {
  return (u32)__builtin_amdgcn_ds_bpermute((i32)((lane | (wave_lane() & ~31u)) << 2), (i32)a);
}
MEMORY void warp_sync(u32 mask) {
  (void)mask;
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "wavefront");
  __builtin_amdgcn_wave_barrier();
}

// The lanes that are active and members take turns: 32 steps at most.
#define REDUCTION(name, type, expression)                                                      \
  MEMORY u32 reduce_##name(u32 given, u32 members) {                                           \
    u32 left = ballot(true) & members;                                                         \
    type a = (type)lane_value(given, (u32)__builtin_ctz(left));                                \
    for (left &= left - 1; left; left &= left - 1) {                                           \
      const type b = (type)lane_value(given, (u32)__builtin_ctz(left));                        \
      a = expression;                                                                          \
    }                                                                                          \
    return (u32)a;                                                                             \
  }
REDUCTIONS(REDUCTION)
#undef REDUCTION

MEMORY u32 match_any(u64 a) {
  u32 same = 0;
  for (u32 left = ballot(true); left; left &= left - 1) {
    const u32 lane = (u32)__builtin_ctz(left);
    const u64 other = lane_value((u32)a, lane) | (u64)lane_value((u32)(a >> 32), lane) << 32;
    same |= (u32)(other == a) << lane;
  }
  return same;
}

MEMORY void barrier(void) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

static SHARED u32 counted __attribute__((loader_uninitialized));
MEMORY u32 barrier_count(bool a) {
  if ((thread_x() | thread_y() | thread_z()) == 0) *(volatile SHARED u32 *)&counted = 0;
  barrier();
  if (a) RMW(fetch_add, SHARED, u32, &counted, 1, BLOCK);
  barrier();
  const u32 n = *(volatile SHARED u32 *)&counted;
  barrier();
  return n;
}

#define mufu_rcp __builtin_amdgcn_rcpf
#define mufu_rsq __builtin_amdgcn_rsqf
#define mufu_sqrt __builtin_amdgcn_sqrtf
#define mufu_ex2 __builtin_amdgcn_exp2f
#define mufu_lg2 __builtin_amdgcn_logf
#define mufu_sin __builtin_amdgcn_sinf  // of turns, as NVIDIA's
#define mufu_cos __builtin_amdgcn_cosf
#define mufu_rcp64 __builtin_amdgcn_rcp
#define mufu_rsq64 __builtin_amdgcn_rsq
#define fma_h2 __builtin_elementwise_fma
