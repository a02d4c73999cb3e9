"""Faults that are seeded into right programs in MSL are seen: by an error, or by wrong numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from kernelwright.dialects.compile_shader import compile_shader
from kernelwright.dialects.simt.metal import msl_missing

pytestmark = pytest.mark.skipif(msl_missing() is not None, reason=str(msl_missing()))

SCALE = """
kernel void f(device const float* x, device float* y, constant float& a, constant long& n,
              uint i [[thread_position_in_grid]]) {
  if (i < n) y[i] = a * x[i];
}
---
x = x.contiguous()
lib.f(x, y, 2.0, x.numel(), threads=512, group_size=128)
"""
SHAPE = """
kernel void f(device const float* x, device float* y, constant long* shape,
              uint2 at [[thread_position_in_grid]]) {
  y[at.x * shape[0] + at.y] = x[at.y * shape[1] + at.x];
}
---
lib.f(x, y, [rows, columns], threads=(columns, rows), group_size=(8, 4))
"""
TREE = """
kernel void f(device const float* x, device float* y, constant int& n,
              uint row [[threadgroup_position_in_grid]],
              uint t [[thread_index_in_threadgroup]], uint size [[threads_per_threadgroup]]) {
  threadgroup float part[64];
  float sum = 0;
  for (uint i = t; i < uint(n); i += size) sum += x[row * n + i];
  part[t] = sum;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint s = size / 2; s > 0; s /= 2) {
    if (t < s) { part[t] += part[t + s]; }
    threadgroup_barrier(mem_flags::mem_threadgroup); // in the loop
  }
  if (t == 0) y[row] = part[0];
}
---
lib.f(x, y, columns, threads=rows * 64, group_size=64, arg_casts={2: "int32"})
"""
LANES = """
kernel void f(device const float* x, device float* y, constant long& n,
              uint row [[threadgroup_position_in_grid]],
              uint lane [[thread_index_in_simdgroup]]) {
  float sum = 0;
  for (long i = lane; i < n; i += 32) sum += x[row * n + i];
  for (ushort d = 16; d > 0; d /= 2) sum += simd_shuffle_down(sum, d);
  if (lane == 0) y[row] = sum;
}
---
lib.f(x, y, columns, threads=rows * 32, group_size=32)
"""
BLOCKS = """
kernel void f(device const float* x, device float* y, constant long& n,
              uint row [[threadgroup_position_in_grid]],
              uint t [[thread_index_in_threadgroup]],
              uint lane [[thread_index_in_simdgroup]],
              uint group [[simdgroup_index_in_threadgroup]],
              uint groups [[simdgroups_per_threadgroup]]) {
  threadgroup float part[4];
  float sum = 0;
  for (long i = t; i < n; i += 128) sum += x[row * n + i];
  sum = simd_sum(sum);
  if (lane == 0) part[group] = sum;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  sum = simd_sum(lane < groups ? part[lane] : 0.0f);
  if (t == 0) y[row] = sum;
}
---
lib.f(x, y, columns, threads=rows * 128, group_size=128)
"""
TILE = """
kernel void f(device const float* x, device float* y, constant long& rows, constant long& columns,
              uint2 at [[thread_position_in_grid]], uint2 t [[thread_position_in_threadgroup]],
              uint2 group [[threadgroup_position_in_grid]]) {
  threadgroup float tile[8][9];
  tile[t.y][t.x] = x[at.y * columns + at.x];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  y[(group.x * 8 + t.y) * rows + group.y * 8 + t.x] = tile[t.x][t.y];
}
---
lib.f(x, y, rows, columns, threads=(columns, rows), group_size=(8, 8))
"""
BINS = """
kernel void f(device const int* x, device atomic_uint* bins, constant long& n,
              uint i [[thread_position_in_grid]]) {
  if (i < n) atomic_fetch_add_explicit(&bins[x[i]], 1, memory_order_relaxed);
}
---
lib.f(x, y.zero_(), x.numel(), threads=x.numel())
"""
SCAN = """
kernel void f(device const float* x, device float* y, constant long& n,
              uint row [[threadgroup_position_in_grid]], uint t [[thread_index_in_threadgroup]]) {
  threadgroup float part[2][64];
  part[0][t] = t < n ? x[row * n + t] : 0.0f;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  uint from = 0;
  for (uint d = 1; d < 64; d *= 2) {
    part[1 - from][t] = part[from][t] + (t >= d ? part[from][t - d] : 0.0f);
    threadgroup_barrier(mem_flags::mem_threadgroup); // in the loop
    from = 1 - from;
  }
  if (t < n) y[row * n + t] = part[from][t];
}
---
lib.f(x, y, columns, threads=rows * 64, group_size=64)
"""
PRODUCT = """
kernel void f(device const float* x, device float* y, constant long& n,
              uint2 group [[threadgroup_position_in_grid]]) {
  simdgroup_float8x8 sum = make_filled_simdgroup_matrix<float, 8, 8>(0.0f), left, right;
  for (int k = 0; k < n; k += 8) {
    simdgroup_load(left, x + group.y * 8 * n + k, n);
    simdgroup_load(right, x + group.x * 8 * n + k, n, ulong2(0, 0), true);
    simdgroup_multiply_accumulate(sum, left, right, sum);
  }
  simdgroup_store(sum, y + group.y * 8 * 24 + group.x * 8, 24);
}
---
lib.f(x, y, columns, threads=(3 * 32, 3), group_size=(32, 1))
"""


def totals(x: torch.Tensor) -> torch.Tensor:
    return x.sum(-1)


def transposed(x: torch.Tensor) -> torch.Tensor:
    return x.t().contiguous()


def counted(x: torch.Tensor) -> torch.Tensor:
    return x.bincount(minlength=16).int()


Program = tuple[Callable[[], torch.Tensor], Callable[[torch.Tensor], torch.Tensor], str]
PROGRAMS: dict[str, Program] = {
    "scale": (lambda: torch.randn(10, 40).t(), lambda x: 2 * x.contiguous(), SCALE),
    "shape": (lambda: torch.randn(12, 20), transposed, SHAPE),
    "tree": (lambda: torch.randn(5, 100), totals, TREE),
    "lanes": (lambda: torch.randn(5, 100), totals, LANES),
    "blocks": (lambda: torch.randn(5, 300), totals, BLOCKS),
    "tile": (lambda: torch.randn(16, 24), transposed, TILE),
    "bins": (lambda: torch.randint(0, 16, (300,), dtype=torch.int32), counted, BINS),
    "scan": (lambda: torch.randn(4, 50), lambda x: x.cumsum(-1), SCAN),
    "product": (lambda: torch.randn(24, 32), lambda x: x @ x.t(), PRODUCT),
}
BARRIER = "threadgroup_barrier(mem_flags::mem_threadgroup);"
IN_LOOP = f"{BARRIER} // in the loop"
FAULTS = [
    ("scale", "y[i]", "y[i + 1]", "writes one off"),
    ("scale", "x[i]", "x[i + 1]", "reads one off"),
    ("scale", "i < n", "i <= n", "one thread too many"),
    ("scale", "if (i < n) ", "", "no bound"),
    ("scale", "i < n", "i < n - 1", "one thread too few"),
    ("scale", "constant long& n", "constant int& n", "int64 read as int32"),
    ("scale", "constant float& a", "constant half& a", "float read as half"),
    ("scale", "2.0, x", "2, x", "int for a float"),
    ("scale", "x.numel(), ", 'x.numel(), arg_casts="int32", ', "int32 read as int64"),
    ("scale", "threads=512", "threads=4", "threads taken for groups"),
    ("scale", "group_size=128", "group_size=2048", "group too large"),
    ("scale", "group_size=128", "group_size=(128, 1)", "group of another rank"),
    ("scale", "x = x.contiguous()\n", "", "strided input"),
    ("scale", "lib.f(x, y,", "lib.f(y, x,", "input and output exchanged"),
    ("scale", ", x.numel(), t", ", t", "an argument is missing"),
    ("scale", "device const float* x", "device const half* x", "float read as half"),
    ("scale", "a * x[i]", "max(a, 1) * x[i]", "ambiguous overload"),
    ("scale", "device float* y", "constant float* y", "write to constant memory"),
    ("scale", "constant long& n", "constant long& n [[buffer(31)]]", "buffer beyond the last"),
    ("scale", "lib.f(", "lib.g(", "no such kernel"),
    ("shape", "constant long*", "constant int*", "list of int64 read as int32"),
    ("shape", "[rows, columns]", "[columns, rows]", "extents exchanged"),
    ("shape", "(columns, rows)", "(rows, columns)", "grid exchanged"),
    ("shape", "shape[1]", "shape[2]", "reads beyond a list"),
    ("tree", f"= sum;\n  {BARRIER}", "= sum;", "no barrier before the tree"),
    ("tree", IN_LOOP, "", "no barrier in the tree"),
    ("tree", f"}}\n    {IN_LOOP}", f"{BARRIER} }}", "barrier where threads diverge"),
    ("tree", "t < s", "t <= s", "tree one too wide"),
    ("tree", "part[64]", "part[63]", "array too small"),
    ("tree", "size / 2", "size / 4", "half of the tree"),
    ("tree", "float part[64]", "float part[9000]", "too much threadgroup memory"),
    ("tree", "  part[t] = sum;", "  if (t < 40) part[t] = sum;", "uninitialised memory"),
    ("tree", "  float sum = 0;", "  if (t >= 50) return;\n  float sum = 0;", "threads leave early"),
    ("tree", "rows * 64", "rows", "threads taken for groups"),
    ("tree", "group_size=64", "group_size=48", "group that the tree does not fit"),
    ("tree", ', arg_casts={2: "int32"}', "", "int64 read as int32"),
    ("lanes", "group_size=32", "group_size=24", "reads of lanes that are not there"),
    ("lanes", "rows * 32", "rows * 32 - 12", "reads of lanes that are not there, at the end"),
    ("lanes", "sum += simd", "if (lane < 16) sum += simd", "reads of inactive lanes"),
    ("lanes", "d = 16", "d = 8", "half of the lanes"),
    ("blocks", BARRIER, "", "no barrier between simdgroups"),
    ("blocks", BARRIER, "simdgroup_barrier(mem_flags::mem_threadgroup);", "barrier of a simdgroup"),
    ("blocks", "part[lane] : 0.0f", "part[lane] : 1.0f", "wrong neutral number"),
    ("blocks", "lane < groups ? part[lane] : 0.0f", "part[lane]", "reads beyond the parts"),
    ("tile", BARRIER, "", "no barrier in the tile"),
    ("tile", "tile[t.x][t.y];", "tile[t.y][t.x];", "tile not transposed"),
    ("tile", "tile[8][9]", "tile[8][7]", "tile too small"),
    ("tile", "rows, columns, t", "columns, rows, t", "extents exchanged"),
    ("bins", "atomic_fetch_add_explicit(&bins[x[i]], 1, memory_order_relaxed)",
     "((device uint*)bins)[x[i]] += 1", "count without atomics"),
    ("bins", "bins[x[i]]", "bins[x[i] + 1]", "one bin off"),
    ("bins", "y.zero_()", "y.fill_(9)", "output not cleared"),
    ("scan", f"0.0f;\n  {BARRIER}", "0.0f;", "no barrier before the scan"),
    ("scan", IN_LOOP, "", "no barrier in the scan"),
    ("scan", "part[1 - from][t] =", "part[from][t] =", "one buffer for two"),
    ("scan", "t >= d", "t > d", "scan one off"),
    ("product", "k, n);", "k, 24);", "wrong stride"),
    ("product", ", true", ", false", "not transposed"),
    ("product", "(3 * 32, 3), group_size=(32, 1)", "(3 * 16, 3), group_size=(16, 1)",
     "half a simdgroup"),
]  # fmt: skip


def is_right(program: Program, text: str) -> bool:
    make, wanted_of, _ = program
    torch.manual_seed(0)
    x = make()
    wanted = wanted_of(x)
    source, _, call = text.partition("---\n")
    y = torch.full_like(wanted, 77)
    names: dict[str, Any] = {
        "lib": compile_shader(f"#include <metal_stdlib>\nusing namespace metal;\n{source}"),
        "x": x,
        "y": y,
        "rows": x.shape[0],
        "columns": x.shape[-1],
    }
    exec(call, names)
    return torch.allclose(y, wanted, atol=1e-4)


@pytest.mark.parametrize("name", PROGRAMS)
def test_right_programs_are_right(name: str) -> None:
    assert is_right(PROGRAMS[name], PROGRAMS[name][2])


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [fault[:3] for fault in FAULTS],
    ids=[f"{name}: {what}" for name, _, _, what in FAULTS],
)
def test_a_fault_is_seen(name: str, right: str, wrong: str) -> None:
    text = PROGRAMS[name][2]
    assert right in text
    try:
        assert not is_right(PROGRAMS[name], text.replace(right, wrong, 1))
    except (RuntimeError, SyntaxError, ValueError):
        return
