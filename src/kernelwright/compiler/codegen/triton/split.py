"""A float32 operand of a product as three bfloat16 parts, for the tensor cores.

Each part takes the 8 bits that the parts before it left, so that the three hold all 24 bits of a
float32. Magnitudes below bfloat16's range are lost: below about 1e-33 values keep fewer bits, down
to a step of 1e-40. If a part overflows, or the operand is infinite, the product detects it in its
result.

A matrix is copied row by row along k, padded with zeros to whole tiles: whatever strides and sizes
the operand has, the product's loads are then aligned and contiguous and need no mask. The windows
of a convolution overlap, and copies of them would be many times as large: their tensor is split in
place, element by element, and the product gathers from it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kernelwright.compiler.codegen.base import Derived
from kernelwright.compiler.codegen.gpu.axes import size_of
from kernelwright.compiler.codegen.gpu.launch import allocation
from kernelwright.compiler.codegen.gpu.names import wrapped
from kernelwright.compiler.ir.axes import in_terms_of, joined
from kernelwright.compiler.ir.ir import Axis, Contraction, Load, Tensor, contiguous

PRODUCTS = ((2, 0), (0, 2), (1, 1), (1, 0), (0, 1), (0, 0))
"""The pairs of the two operands' parts that matter, the smallest first; the other products are
below one ulp."""
_SPLIT = """
    high = {high}
    rest = x - high.to(tl.float32)
    middle = {middle}
    low = {low}
"""
_FLAT = """\
@triton.jit
def split_in_three(x_ptr, parts_ptr, N: tl.constexpr, BLOCK: tl.constexpr):
    # x = high + middle + low, each in bfloat16: together all 24 bits of a float32
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    live = i < N
    x = tl.load(x_ptr + i, mask=live, other=0.0){split}\
    tl.store(parts_ptr + i, high, mask=live)
    tl.store(parts_ptr + N + i, middle, mask=live)
    tl.store(parts_ptr + 2 * N + i, low, mask=live)
"""
_ROWS = """\
@triton.jit
def split_rows_in_three(
    x_ptr, parts_ptr, ROWS: tl.constexpr, K: tl.constexpr, INNER: tl.constexpr,
    OUTER_STEP: tl.constexpr, INNER_STEP: tl.constexpr, K_STEP: tl.constexpr, START: tl.constexpr,
    PADDED_ROWS: tl.constexpr, PADDED_K: tl.constexpr, BLOCK: tl.constexpr,
):
    # x = high + middle + low, each in bfloat16: together all 24 bits of a float32. Row by row
    # along k, with zeros up to whole tiles: the product then loads without masks.
    TILES: tl.constexpr = (PADDED_K + BLOCK - 1) // BLOCK
    row = tl.program_id(0).to(tl.int64) // TILES * BLOCK + tl.arange(0, BLOCK)
    k = tl.program_id(0) % TILES * BLOCK + tl.arange(0, BLOCK)
    start = START + row // INNER * OUTER_STEP + row % INNER * INNER_STEP
    live = (row < ROWS)[:, None] & (k < K)[None, :]
    x = tl.load(x_ptr + start[:, None] + k.to(tl.int64)[None, :] * K_STEP, mask=live, other=0.0)\
{split}\
    to = parts_ptr + row[:, None] * PADDED_K + k[None, :]
    live = (row < PADDED_ROWS)[:, None] & (k < PADDED_K)[None, :]
    tl.store(to, high, mask=live)
    tl.store(to + PADDED_ROWS * PADDED_K, middle, mask=live)
    tl.store(to + 2 * PADDED_ROWS * PADDED_K, low, mask=live)
"""
_TEXTS = {"split_in_three": _FLAT, "split_rows_in_three": _ROWS}
_FLAT_BLOCK = 2048
_ROWS_BLOCK = 64
"""Side of a tile in elements: both a row-major and a column-major operand are read in whole cache
lines (256 bytes)."""


@dataclass(frozen=True)
class Rows:
    """An operand as a matrix of rows along k.

    Row ``r`` begins at ``start + r // n_inner * outer_step + r % n_inner * inner_step``.
    """

    axes: tuple[Axis, ...]
    """The axes whose row-major number is the row's number: the operand's batch axes, then the
    product's rows (or columns)."""
    n_inner: int
    outer_step: int
    inner_step: int
    k: int
    k_step: int
    start: int
    padded_rows: int
    padded_k: int

    @property
    def n_elements(self) -> int:
        """Number of elements of one part."""
        return self.padded_rows * self.padded_k


def rows_of(step: Contraction, letter: str, block: Mapping[str, int]) -> Rows | None:
    """Return operand ``letter`` ('a' or 'b') as rows, padded to whole blocks; None if it is not a
    matrix in memory (overlapping windows, padding, or more than two strides for its rows)."""
    load, side = (step.a, step.m) if letter == "a" else (step.b, step.n)
    index = load.index
    if load.bounds or any(a.size > 1 and not index.coefficient(a.name) for a in side):
        return None
    lead = [axis for axis in step.batch if index.coefficient(axis.name)]
    axes = (*lead, *side)
    groups, along = strides_along(load, axes), strides_along(load, step.k)
    n_rows, k = size_of(axes), size_of(step.k)
    if len(groups) > 2 or len(along) > 1 or n_rows * k > load.tensor.n_elements:
        return None
    (_, outer_step), (n_inner, inner_step) = [(1, 0), (1, 0), *groups][-2:]
    size, block_rows = size_of(side), block["m" if letter == "a" else "n"]
    # rows that the last tile reads past the end
    past = math.ceil(size / block_rows) * block_rows - size
    padded_k = math.ceil(k / block["k"]) * block["k"]
    k_step = along[0][1] if along else 1
    return Rows(
        axes, n_inner, outer_step, inner_step, k, k_step, index.offset, n_rows + past, padded_k
    )


def strides_along(load: Load, axes: tuple[Axis, ...]) -> list[tuple[int, int]]:
    """Return (size, stride) of the axes, with axes that are contiguous in memory joined."""
    whole, names = joined((axis for axis in axes if axis.size != 1), [load.index])
    index = in_terms_of(load.index, names)
    return [(axis.size, index.coefficient(axis.name)) for axis in whole]


def parts_name(step: Contraction, letter: str) -> str:
    """Return the name of the tensor of an operand's three parts."""
    return f"{step.name}_{letter}_in_three"


def in_rows(step: Contraction, letter: str, rows: Rows) -> Derived:
    """Return the statements that split an operand into rows of parts."""
    tensor = (step.a if letter == "a" else step.b).tensor
    name = parts_name(step, letter)
    parts = contiguous(name, (3, rows.padded_rows, rows.padded_k), "bfloat16")
    tiles = math.ceil(rows.padded_rows / _ROWS_BLOCK) * math.ceil(rows.padded_k / _ROWS_BLOCK)
    constants: dict[str, Any] = {
        "ROWS": size_of(rows.axes), "K": rows.k, "INNER": rows.n_inner,
        "OUTER_STEP": rows.outer_step, "INNER_STEP": rows.inner_step, "K_STEP": rows.k_step,
        "START": rows.start, "PADDED_ROWS": rows.padded_rows, "PADDED_K": rows.padded_k,
        "BLOCK": _ROWS_BLOCK, "num_warps": 8,
    }  # fmt: skip
    return _derived(tensor, parts, f"split_rows_in_three[({tiles},)](", constants)


def in_place(step: Contraction, letter: str) -> Derived:
    """Return the statements that split an operand's tensor in place."""
    tensor = (step.a if letter == "a" else step.b).tensor
    n = extent(tensor)
    parts = contiguous(parts_name(step, letter), (3, n), "bfloat16")
    head = f"split_in_three[({-(-n // _FLAT_BLOCK)},)]("
    return _derived(tensor, parts, head, {"N": n, "BLOCK": _FLAT_BLOCK})


def _derived(source: Tensor, parts: Tensor, head: str, constants: Mapping[str, Any]) -> Derived:
    groups = [[source.name, parts.name], [f"{key}={value}" for key, value in constants.items()]]
    text = f"{allocation(parts, source.name)}\n{wrapped(head, groups, ')')}"
    return Derived((parts,), source.name, text)


def extent(tensor: Tensor) -> int:
    """Return the number of elements from the first to the last in memory."""
    return 1 + sum((n - 1) * s for n, s in zip(tensor.shape, tensor.strides, strict=True))


def split_kernels(launches: str, *, interpreted: bool) -> list[str]:
    """Return the splitting kernels that ``launches`` uses."""
    split = _SPLIT.format(
        high=to_bfloat16("x", interpreted=interpreted),
        middle=to_bfloat16("rest", interpreted=interpreted),
        low=to_bfloat16("(rest - middle.to(tl.float32))", interpreted=interpreted),
    )
    return [text.format(split=split) for name, text in _TEXTS.items() if f"{name}[" in launches]


def split_inside(letter: str, *, interpreted: bool) -> list[str]:
    """Return the lines that split a tile named ``letter`` inside the product's loop."""
    rest = f"{letter}_rest"
    middle = f"({rest} - {letter}1.to(tl.float32))"
    return [
        f"{letter}0 = {to_bfloat16(letter, interpreted=interpreted)}",
        f"{rest} = {letter} - {letter}0.to(tl.float32)",
        f"{letter}1 = {to_bfloat16(rest, interpreted=interpreted)}",
        f"{letter}2 = {to_bfloat16(middle, interpreted=interpreted)}",
    ]


def to_bfloat16(text: str, *, interpreted: bool) -> str:
    """Return ``text`` rounded to nearest; the interpreter would truncate its low bits."""
    return f"to_bfloat16({text})" if interpreted else f"{text}.to(tl.bfloat16)"
