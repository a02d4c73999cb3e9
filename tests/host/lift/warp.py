"""Rows of memory and of warps, run for 32 lanes without an emulation: the twin's functions by their
definitions, in C, and the registers and memory that a row leaves.

A collective needs what all lanes bring. All lanes run one after the other several times, each time
with what was brought the time before, until the last of a row's collectives has seen all.
"""

import ctypes
from itertools import count

import numpy as np

from kernelwright.dialects.simt import machine
from kernelwright.lift.banks import KernelBanks
from kernelwright.lift.build import C_FLAGS
from kernelwright.lift.cubin import Cubin, KernelFacts, Variable
from kernelwright.lift.kernel import statement
from kernelwright.lift.program import HEADERS
from kernelwright.lift.rows import bind

LANES, N_WORDS, ROOM_BYTES, AT = 32, 48, 64, 16
"""How many lanes, registers of each and bytes of memory there are, and where in memory a row's
address points."""
MASK = 0xF0F0FF0F
"""The mask of the last WARPSYNC of each lane of it."""
D, P, Q, EVENTS, SYNCED = 0, 8, 9, 10, 13
"""Where each result lies in the words of a lane; EVENTS are fences, barriers and traps."""
BANKS = KernelBanks(
    Cubin(variables=(Variable("bank_room", bytes(ROOM_BYTES), 3, 0),)), KernelFacts()
)
WARP = """
enum { BLOCK, DEVICE, SYSTEM };  // scopes, which nothing reads here
static _Alignas(16) u8 space[256], variable_bank_room[64];  // changed rows access what is beside it
static u8 *const room = space + 96;
static u64 brought[128][32];
static u32 active, lane_now, call_now, events[3];
#define ALL(expression) \\
  u64 *all = brought[call_now++]; all[lane_now] = a; u32 result = 0; \\
  for (u32 l = 0; l < 32; ++l) if (active >> l & 1) { const u64 it = all[l]; expression; } \\
  return result;
u32 ballot(bool a) { ALL(result |= (u32)it << l) }
u32 match_any(u64 a) { ALL(result |= (u32)(it == a) << l) }
u32 barrier_count(bool a) { ++events[1]; ALL(result += (u32)it) }
u32 lane_value(u32 a, u32 lane) {
  u64 *all = brought[call_now++]; all[lane_now] = a;
  return active >> (lane & 31) & 1 ? (u32)all[lane & 31] : a;
}
#define REDUCTION(name, type, expression) u32 reduce_##name(u32 given, u32 members) { \\
  u64 *all = brought[call_now++]; all[lane_now] = given; bool is_first = true; u32 result = 0; \\
  for (u32 l = 0; l < 32; ++l) if ((active & members) >> l & 1) { \\
    const type a = (type)result, b = (type)all[l]; \\
    result = is_first ? (u32)b : (u32)(expression); is_first = false; } \\
  return result; }
REDUCTIONS(REDUCTION)
u32 lane_id(void) { return lane_now; }
u32 twin_thread(int axis) { return 100 + axis; }
u32 twin_block(int axis) { return 200 + axis; }
u64 clock_now(void) { return 0x1234567890abcdefull; }
u8 *twin_shared(void) { return room; }
void twin_atomic(const volatile void *at, u64 bytes) {}
void twin_fence(void) { ++events[0]; }
void barrier(void) { ++events[1]; }
void twin_meet(void) {}
void warp_sync(u32 mask) {}
void run_warp(void (*row)(const u32 *, u32 *), const u32 *in, u32 *out, u32 mask, u8 *memory) {
  for (active = mask, call_now = 0; call_now < 128; ++call_now)
    for (u32 l = 0; l < 32; ++l) brought[call_now][l] = 0;
  for (u32 pass = 0; pass < 4; ++pass)
    for (lane_now = 0; lane_now < 32; ++lane_now)
      if (mask >> lane_now & 1) {
        __builtin_memcpy(room, memory, 64), __builtin_memcpy(variable_bank_room, memory, 64);
        events[0] = events[1] = events[2] = call_now = 0;
        row(in + 48 * lane_now, out + 16 * lane_now);
      }
  __builtin_memcpy(memory, room, 64);
}
"""
_TAKES = {"u32x4": 4, "u32x2": 2, "rows2": 2, "u64": 2, "i64": 2, "f64": 2}


def placed(row):
    """Return an instruction's operands, and where its inputs come from: name → (register, words);
    predicates have no words, immediates no register."""
    texts, inputs = [], {}
    registers, predicates = count(10, 4), count(1)
    for slot in row.slots:
        k, n = next(registers), _TAKES.get(slot.kind, 1)
        if slot.is_result:
            texts.append("R2" if slot.kind != "pred" else {"p": "P5", "q": "P6"}[slot.name])
        elif slot.kind == "pred":
            k = next(predicates)
            inputs[slot.name] = (k, 0)
            texts.append(f"P{k}")
        elif slot.kind == "imm":
            inputs[slot.name] = (None, 3)
            texts.append("0x3")
        elif slot.kind in ("global", "near", "bank"):
            texts.append({"global": "[R40.64]", "near": "[R42]", "bank": "c[0x3][R42]"}[slot.kind])
        elif slot.kind[0].isupper() or slot.kind == "0x0":
            texts.append(slot.kind)
        else:
            inputs[slot.name] = (k, n)
            texts.append(f"R{k}" + {"rows2": ".ROW", "columns1": ".COL"}.get(slot.kind, ""))
    return texts, inputs


def body_of(row):
    texts, inputs = placed(row)
    bound = bind(row.sass, texts, BANKS)
    assert bound is not None and bound.row == row, (row.sass, texts)
    return statement(bound, "synced"), inputs


def _function(number, body):
    declared = " ".join(f"u32 R{k} = in[{k}];" for k in range(40))
    declared += " ".join(f"bool P{k} = in[0] >> {k} & 1;" for k in range(7))
    declared += (
        f"u32 R40 = (u32)(u64)(room + {AT}), R41 = (u32)((u64)(room + {AT}) >> 32), R42 = {AT}, "
        f"synced = {MASK:#x}, barrier_result = in[1]; u8 *stack = room; R2 = R3 = R4 = R5 = 0;"
    )
    results = "out[0] = R2; out[1] = R3; out[2] = R4; out[3] = R5; out[8] = P5; out[9] = P6;"
    results += " for (u32 k = 0; k < 3; ++k) out[10 + k] = events[k]; out[13] = synced;"
    results += " out[14] = barrier_result;"
    return (
        f"void probe_{number}(const u32 *in, u32 *out) {{ {declared} {body} {results} }}\n"
        .replace("YIELD()", "((void)0)")
    )  # fmt: skip


def compiled(bodies, folder):
    """Return one function (number, words of lanes, mask, memory) → (results, memory)."""
    head = f'#include "{HEADERS / "twin.h"}"\n#include "{HEADERS / "sass.h"}"\n#undef TRAP\n'
    head += "#define TRAP() ++events[2]\n" + WARP
    source, library = folder / "warp.c", folder / "warp.so"
    source.write_text(head + "".join(_function(k, body) for k, body in enumerate(bodies)))
    flags = [*C_FLAGS, "-O1", "-shared", "-fPIC"]
    machine.compile_with(str(machine.find_clang()), *flags, str(source), "-o", str(library), "-lm")
    loaded = ctypes.CDLL(str(library))

    def pointer(array):
        return array.ctypes.data_as(ctypes.c_void_p)

    def run(number, words, mask, memory):
        out, left = np.zeros((LANES, 16), np.uint32), memory.copy()
        row = getattr(loaded, f"probe_{number}")
        loaded.run_warp(row, pointer(words), pointer(out), ctypes.c_uint32(mask), pointer(left))
        return out, left

    return run
