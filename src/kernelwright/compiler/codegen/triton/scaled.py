"""A float32 operand of a product as two float16 parts, after its rows are scaled to one magnitude.

Every row along k is multiplied by the power of two that brings its largest magnitude to between
2^14 and 2^15; the product divides by it, and no bit is lost by that. The high part takes 11 bits.
The low part, 2^11 times the remainder, takes the next 11 or 12. The error of an element is
therefore at most 2^-23 of the element if it is not below 2^-27 of its row's largest, and otherwise
at most 2^-50 of that largest. A row whose largest is below 2^-112 is multiplied by 2^126; it then
has no bits below 2^-23, and the error of every element is at most 2^-23 of the element. There are
three products of parts instead of six, and 4 bytes per element instead of 6. Infinities and NaN
give results that are not finite, which the product recomputes.

Source:
    Ootomo and Yokota, Recovering single precision accuracy from Tensor Cores, arXiv 2203.03341:
    two float16 parts with the low one scaled. Scaling whole rows as well is ours.
"""

from __future__ import annotations

import math
from typing import Any

from kernelwright.compiler.codegen.base import Derived
from kernelwright.compiler.codegen.gpu.axes import size_of
from kernelwright.compiler.codegen.gpu.launch import allocation
from kernelwright.compiler.codegen.gpu.names import wrapped
from kernelwright.compiler.codegen.triton.split import Rows
from kernelwright.compiler.ir.ir import Contraction, contiguous

LARGEST = """\
@triton.jit
def largest_of_rows(
    x_ptr, largest_ptr, ROWS: tl.constexpr, K: tl.constexpr, INNER: tl.constexpr,
    OUTER_STEP: tl.constexpr, INNER_STEP: tl.constexpr, K_STEP: tl.constexpr, START: tl.constexpr,
    BLOCK: tl.constexpr, BLOCK_K: tl.constexpr,
):
    # of every row the largest magnitude's bits, which are ordered as the magnitudes are
    TILES: tl.constexpr = (K + BLOCK_K - 1) // BLOCK_K
    row = tl.program_id(0).to(tl.int64) // TILES * BLOCK + tl.arange(0, BLOCK)
    k = tl.program_id(0) % TILES * BLOCK_K + tl.arange(0, BLOCK_K)
    start = START + row // INNER * OUTER_STEP + row % INNER * INNER_STEP
    live = (row < ROWS)[:, None] & (k < K)[None, :]
    x = tl.load(x_ptr + start[:, None] + k.to(tl.int64)[None, :] * K_STEP, mask=live, other=0.0)
    bits = tl.max(tl.abs(x).to(tl.int32, bitcast=True), 1)
    tl.atomic_max(largest_ptr + row, bits, mask=row < ROWS, sem="relaxed")
"""
SPLIT = """\
@triton.jit
def split_rows_in_two(
    x_ptr, largest_ptr, parts_ptr, ROWS: tl.constexpr, K: tl.constexpr, INNER: tl.constexpr,
    OUTER_STEP: tl.constexpr, INNER_STEP: tl.constexpr, K_STEP: tl.constexpr, START: tl.constexpr,
    PADDED_ROWS: tl.constexpr, PADDED_K: tl.constexpr, BLOCK: tl.constexpr,
):
    # x * scale = high + low / 2048, each in float16: together 22 to 23 bits of a float32. Row by
    # row along k, with zeros up to whole tiles: the product then loads without masks.
    TILES: tl.constexpr = (PADDED_K + BLOCK - 1) // BLOCK
    row = tl.program_id(0).to(tl.int64) // TILES * BLOCK + tl.arange(0, BLOCK)
    k = tl.program_id(0) % TILES * BLOCK + tl.arange(0, BLOCK)
    start = START + row // INNER * OUTER_STEP + row % INNER * INNER_STEP
    live = (row < ROWS)[:, None] & (k < K)[None, :]
    x = tl.load(x_ptr + start[:, None] + k.to(tl.int64)[None, :] * K_STEP, mask=live, other=0.0)
    exponent = exponent_of_scale(tl.load(largest_ptr + row, mask=row < ROWS, other=0))
    x = x * (exponent << 23).to(tl.float32, bitcast=True)[:, None]
    high = x.to(tl.float16)
    low = ((x - high.to(tl.float32)) * 2048.0).to(tl.float16)
    to = parts_ptr + row[:, None] * PADDED_K + k[None, :]
    live = (row < PADDED_ROWS)[:, None] & (k < PADDED_K)[None, :]
    tl.store(to, high, mask=live)
    tl.store(to + PADDED_ROWS * PADDED_K, low, mask=live)
"""
AT_ONCE = """\
@triton.jit
def split_whole_rows_in_two(
    x_ptr, largest_ptr, parts_ptr, ROWS: tl.constexpr, K: tl.constexpr, INNER: tl.constexpr,
    OUTER_STEP: tl.constexpr, INNER_STEP: tl.constexpr, START: tl.constexpr,
    PADDED_ROWS: tl.constexpr, PADDED_K: tl.constexpr, BLOCK: tl.constexpr, BLOCK_K: tl.constexpr,
):
    # The same where k runs along memory: a program reads its rows twice, the second time from a
    # cache, and finds their largest magnitudes itself.
    row = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    start = x_ptr + (START + row // INNER * OUTER_STEP + row % INNER * INNER_STEP)[:, None]
    bits = tl.zeros((BLOCK, BLOCK_K), dtype=tl.int32)
    for first in range(0, K, BLOCK_K):
        k = first + tl.arange(0, BLOCK_K)
        x = tl.load(start + k[None, :], mask=(row < ROWS)[:, None] & (k < K)[None, :], other=0.0)
        bits = tl.maximum(bits, tl.abs(x).to(tl.int32, bitcast=True))
    largest = tl.max(bits, 1)
    tl.store(largest_ptr + row, largest, mask=row < PADDED_ROWS)
    scale = (exponent_of_scale(largest) << 23).to(tl.float32, bitcast=True)[:, None]
    to = parts_ptr + row[:, None] * PADDED_K
    for first in range(0, PADDED_K, BLOCK_K):
        k = first + tl.arange(0, BLOCK_K)
        x = tl.load(start + k[None, :], mask=(row < ROWS)[:, None] & (k < K)[None, :], other=0.0)
        x = x * scale
        high = x.to(tl.float16)
        low = ((x - high.to(tl.float32)) * 2048.0).to(tl.float16)
        live = (row < PADDED_ROWS)[:, None] & (k < PADDED_K)[None, :]
        tl.store(to + k[None, :], high, mask=live)
        tl.store(to + PADDED_ROWS * PADDED_K + k[None, :], low, mask=live)
"""
_LONG, _SHORT = (1, 1024, 4), (8, 512, 8)
"""Rows, elements per row and warps of a program that processes whole rows at a time: of four
choices the fastest on an H200, for rows of 1024 and more, and for rows of 64. One kernel instead of
two and a memset took 28 to 67 us instead of 32 to 86, and half the time to launch; for rows that
are not contiguous it took 25 to 30 us more."""
_BLOCK, _BLOCK_K = 64, 128
"""Sides of a tile in elements: both a row-major and a column-major operand are read in whole cache
lines (256 bytes). The shorter the pieces of k, the more programs contend for a row's largest
magnitude."""


def parts_name(step: Contraction, letter: str) -> str:
    """Return the name of the tensor of an operand's two parts."""
    return f"{step.name}_{letter}_in_two"


def largest_name(step: Contraction, letter: str) -> str:
    """Return the name of the tensor of the bits of its rows' largest magnitudes."""
    return f"{step.name}_{letter}_largest"


def in_rows(step: Contraction, letter: str, rows: Rows) -> Derived:
    """Return the statements that compute the rows' largest magnitudes, and split the rows."""
    source = (step.a if letter == "a" else step.b).tensor.name
    largest, parts = largest_name(step, letter), parts_name(step, letter)
    tensor = contiguous(parts, (2, rows.padded_rows, rows.padded_k), "float16")
    bits = contiguous(largest, (rows.padded_rows,), "int32")
    where: dict[str, Any] = {
        "ROWS": size_of(rows.axes), "K": rows.k, "INNER": rows.n_inner,
        "OUTER_STEP": rows.outer_step, "INNER_STEP": rows.inner_step, "START": rows.start,
    }  # fmt: skip
    padding = {"PADDED_ROWS": rows.padded_rows, "PADDED_K": rows.padded_k}
    # The last tile reaches past the rows; the largest magnitude of those extra rows is zero.
    made = f"({rows.padded_rows}, dtype=torch.int32, device={source}.device)"
    if rows.k_step == 1:
        block, block_k, warps = _LONG if rows.k > _SHORT[1] else _SHORT
        n = math.ceil(rows.padded_rows / block)
        blocks = {"BLOCK": block, "BLOCK_K": block_k, "num_warps": warps}
        first = f"{largest} = torch.empty{made}"
        names = [source, largest, parts]
        split = _launch("split_whole_rows_in_two", n, names, where | padding | blocks)
    else:
        where |= {"K_STEP": rows.k_step}
        n = math.ceil(size_of(rows.axes) / _BLOCK) * math.ceil(rows.k / _BLOCK_K)
        blocks = {"BLOCK": _BLOCK, "BLOCK_K": _BLOCK_K, "num_warps": 8}
        find = _launch("largest_of_rows", n, [source, largest], where | blocks)
        first = f"{largest} = torch.zeros{made}\n{find}"
        n = math.ceil(rows.padded_rows / _BLOCK) * math.ceil(rows.padded_k / _BLOCK)
        constants = where | padding | {"BLOCK": _BLOCK, "num_warps": 8}
        split = _launch("split_rows_in_two", n, [source, largest, parts], constants)
    text = f"{first}\n{allocation(tensor, source)}\n{split}"
    return Derived((tensor, bits), source, text)


def _launch(name: str, n_programs: int, tensors: list[str], constants: dict[str, Any]) -> str:
    options = [f"{key}={value}" for key, value in constants.items()]
    return wrapped(f"{name}[({n_programs},)](", [tensors, options], ")")


def split_kernels(launches: str) -> list[str]:
    """Return the splitting kernels that ``launches`` uses."""
    kernels = {"split_rows_in_two": [LARGEST, SPLIT], "split_whole_rows_in_two": [AT_ONCE]}
    return [text for name, texts in kernels.items() if f"{name}[" in launches for text in texts]
