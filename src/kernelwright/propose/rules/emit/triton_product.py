"""A contraction as one tiled Triton kernel: matrix products, batched ones, convolutions.

Every operand's index is a sum of a part that its rows decide and a part that k decides, so a
convolution is a matrix product whose tiles are gathered: no im2col copy, padding is a mask.

float32 has two ways. ``ieee`` multiplies on the ordinary cores. ``bf16x3_6`` cuts every operand
into three bfloat16 parts, which hold all 24 bits, and adds the six products that matter on the
tensor cores. Those cut bits off when they accumulate, so every block of k is summed afresh and
added to the total in float32. Measured on an H200 at 4096 x 4096 x 4096: 1.8 times cuBLAS's
float32 speed at a fifth of its error.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from kernelwright.propose.rules.emit.gpu_axes import size_of
from kernelwright.propose.rules.emit.gpu_launch import Launched, allocation
from kernelwright.propose.rules.emit.gpu_names import Lines, Names, function_name, wrapped
from kernelwright.propose.rules.emit.gpu_schedule import needs_int64
from kernelwright.propose.rules.emit.gpu_text import affine, decomposed
from kernelwright.propose.rules.emit.triton_body import (
    Body,
    Tile,
    Value,
    inside,
    tile_name,
)
from kernelwright.propose.rules.emit.triton_kernel import RESERVED, signature
from kernelwright.propose.rules.ir import Affine, Axis, Contraction, Load, Tensor, contiguous

_ROUNDS = ((2, 0), (0, 2), (1, 1), (1, 0), (0, 1), (0, 0))
"""The six products of parts of a and b, the smallest first; the other three are below one ulp."""
_SPLIT = """\
@triton.jit
def split_in_three(x_ptr, parts_ptr, N: tl.constexpr, BLOCK: tl.constexpr):
    # x = high + middle + low, each in bfloat16: together all 24 bits of a float32
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    live = i < N
    x = tl.load(x_ptr + i, mask=live, other=0.0)
    high = {high}
    rest = x - high.to(tl.float32)
    middle = {middle}
    low = {low}
    tl.store(parts_ptr + i, high, mask=live)
    tl.store(parts_ptr + N + i, middle, mask=live)
    tl.store(parts_ptr + 2 * N + i, low, mask=live)
"""
_SPLIT_BLOCK = 2048
_OWN = (
    "m", "n", "k", "live_m", "live_n", "live_k", "tile_m", "tile_n", "group", "height", "acc",
    "chunk", "a", "b", "a0", "a1", "a2", "b0", "b1", "b2", "a_rest", "b_rest", "a_index", "b_index",
)  # fmt: skip
"""Names that the product's own statements use."""


def split_kernel(*, interpreted: bool) -> str:
    """The kernel that cuts a float32 tensor into three bfloat16 ones."""
    return _SPLIT.format(
        high=_to_bfloat16("x", interpreted=interpreted),
        middle=_to_bfloat16("rest", interpreted=interpreted),
        low=_to_bfloat16("(rest - middle.to(tl.float32))", interpreted=interpreted),
    )


def emit_product(step: Contraction, knobs: Mapping[str, Any], *, interpreted: bool) -> Launched:
    """``step`` in Triton under ``knobs``: block_m, block_n, block_k, group, precision, split."""
    writer = _Writer(step, knobs, interpreted=interpreted)
    text = writer.text()
    lines = []
    for tensor in writer.operands if writer.split_before else ():
        extent, parts = _extent(tensor), f"{step.name}_{tensor.name}_in_three"
        lines.append(allocation(contiguous(parts, (3, extent), "bfloat16"), tensor.name))
        head = f"split_in_three[({-(-extent // _SPLIT_BLOCK)},)]("
        groups = [[tensor.name, parts], [f"N={extent}", f"BLOCK={_SPLIT_BLOCK}"]]
        lines.append(wrapped(head, groups, ")"))
    constants = [f"{name}={value}" for name, value in writer.constants.items()]
    options = [f"num_warps={knobs['warps']}", f"num_stages={knobs['stages']}"]
    groups = [list(writer.pointers.values()), [*constants, *options]]
    lines.append(wrapped(f"{function_name(step)}[({writer.grid},)](", groups, ")"))
    return Launched(text, "\n".join(lines))


def _to_bfloat16(text: str, *, interpreted: bool) -> str:
    return f"to_bfloat16({text})" if interpreted else f"{text}.to(tl.bfloat16)"


def _extent(tensor: Tensor) -> int:
    """Elements from the first to the last."""
    return 1 + sum((n - 1) * s for n, s in zip(tensor.shape, tensor.strides, strict=True))


def _in_three(tensor: Tensor) -> str:
    """The name of the pointer to a tensor's three parts."""
    return f"{tensor.name}_in_three_ptr"


class _Writer:
    """Builds one product's text."""

    def __init__(self, step: Contraction, knobs: Mapping[str, Any], *, interpreted: bool) -> None:
        self.step = step
        self.interpreted = interpreted
        self.in_parts = knobs["precision"] == "bf16x3_6"
        self.split_before = self.in_parts and knobs["split"] == "before"
        self.m, self.n, self.k = size_of(step.m), size_of(step.n), size_of(step.k)
        self.block = {x: int(knobs[f"block_{x}"]) for x in "mnk"}
        self.group = int(knobs["group"])
        self.tiles_m = math.ceil(self.m / self.block["m"])
        self.tiles_n = math.ceil(self.n / self.block["n"])
        self.constants = {
            "BLOCK_M": self.block["m"], "BLOCK_N": self.block["n"], "BLOCK_K": self.block["k"],
            "TILES_M": self.tiles_m, "TILES_N": self.tiles_n, "GROUP": self.group,
        }  # fmt: skip
        self.operands = tuple({t.name: t for t in (step.a.tensor, step.b.tensor)}.values())
        self.pointers = self._pointers()
        sizes = {a.name: a.size for a in (*step.batch, *step.m, *step.n, *step.k)}
        self.tile = Tile({}, sizes)
        self.names = Names([*RESERVED, *_OWN, function_name(step), *self.pointers, *self.constants])
        self.lines = Lines(1)
        self.axis: dict[str, str] = {}

    @property
    def grid(self) -> int:
        return size_of(self.step.batch) * self.tiles_m * self.tiles_n

    def _pointers(self) -> dict[str, str]:
        """By parameter: what the launch passes. An operand that was split before comes as its
        parts, and also whole where the body reads it."""
        body = [op.tensor for op in self.step.body if isinstance(op, Load)]
        whole = [*body, *self.step.writes]
        pointers: dict[str, str] = {}
        if self.split_before:
            for tensor in self.operands:
                pointers[_in_three(tensor)] = f"{self.step.name}_{tensor.name}_in_three"
        else:
            whole = [*self.operands, *whole]
        return pointers | {tile_name(tensor): tensor.name for tensor in whole}

    def text(self) -> str:
        self._place()
        starts = {
            "a": self._start("a", self.step.a, (*self.step.batch, *self.step.m)),
            "b": self._start("b", self.step.b, (*self.step.batch, *self.step.n)),
        }
        self.lines.add("acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)")
        self.lines.add(f"for start in range(0, {self.k}, BLOCK_K):")
        self.lines.depth += 1
        self._loop(starts)
        self.lines.depth -= 1
        self._epilogue()
        head = Lines()
        head.add("@triton.jit", *signature(function_name(self.step), self.pointers, self.constants))
        head.depth = 1
        head.add(*(f"# {line}" for line in self.step.origin))
        return head.text() + "\n" + self.lines.text() + "\n"

    def _place(self) -> None:
        """Which tile this program computes, and the axes of its rows and columns."""
        program = "tl.program_id(0)" + (".to(tl.int64)" if needs_int64(self.step) else "")
        pid = "pid"
        if self.step.batch:
            batch = self.names.new("batch")
            self.lines.add(
                f"{batch} = {program} // (TILES_M * TILES_N)",
                f"{pid} = {program} % (TILES_M * TILES_N)",
            )
            self._name_axes(batch, self.step.batch)
        else:
            self.lines.add(f"{pid} = {program}")
        self.lines.add(
            "# GROUP rows of tiles at a time: neighbouring programs share operands in the L2 cache",
            f"group = {pid} // (GROUP * TILES_N)",
            "height = min(TILES_M - group * GROUP, GROUP)",
            f"tile_m = group * GROUP + {pid} % (GROUP * TILES_N) % height",
            f"tile_n = {pid} % (GROUP * TILES_N) // height",
        )
        for letter, axes, size in (("m", self.step.m, self.m), ("n", self.step.n, self.n)):
            big = letter.upper()
            self.lines.add(f"{letter} = tile_{letter} * BLOCK_{big} + tl.arange(0, BLOCK_{big})")
            mask = ""
            if size % self.block[letter]:
                mask = f"live_{letter}"
                self.lines.add(f"{mask} = {letter} < {size}")
            self._name_axes(letter, axes, mask)

    def _name_axes(self, linear: str, axes: tuple[Axis, ...], mask: str = "") -> None:
        for axis, text in decomposed(linear, axes, "//").items():
            name = linear if text == linear else self.names.new(axis)
            if text != linear:
                self.lines.add(f"{name} = {text}")
            self.axis[axis] = name
            if mask:
                self.tile.masks[axis] = mask

    def _start(self, letter: str, load: Load, axes: tuple[Axis, ...]) -> str:
        """A name for the part of an operand's index that stays the same along k."""
        known = {axis.name for axis in axes}
        index = Affine(tuple(t for t in load.index.terms if t[0] in known), load.index.offset)
        name = self.names.new(f"{letter}_start")
        text = affine(index, self.axis)
        side = axes[len(self.step.batch) :]
        if not any(index.coefficient(axis.name) for axis in side):
            text = f"{text} + tl.zeros((BLOCK_{'M' if letter == 'a' else 'N'},), tl.int32)"
        self.lines.add(f"{name} = {text}")
        return name

    # --- the loop over k -------------------------------------------------------------------

    def _loop(self, starts: Mapping[str, str]) -> None:
        self.lines.add("k = start + tl.arange(0, BLOCK_K)")
        mask = ""
        if self.k % self.block["k"]:
            mask = "live_k"
            self.lines.add(f"{mask} = k < {self.k}")
        self._name_axes("k", self.step.k, mask)
        self._operand("a", self.step.a, starts["a"], rows=self.step.m)
        self._operand("b", self.step.b, starts["b"], rows=self.step.n)
        if not self.in_parts:
            a, b = self._as_multiplied()
            precision = ', input_precision="ieee"' if a == "a" and self._is_single() else ""
            self.lines.add(f"acc = tl.dot({a}, {b}, acc{precision})")
            return
        if not self.split_before:
            self._split_inside("a")
            self._split_inside("b")
        wide = ".to(tl.float32)" if self.interpreted else ""
        exact = ', input_precision="ieee"' if self.interpreted else ""
        for i, (a_part, b_part) in enumerate(_ROUNDS):
            before = ", chunk" if i else ""
            self.lines.add(f"chunk = tl.dot(a{a_part}{wide}, b{b_part}{wide}{before}{exact})")
        self.lines.add("acc += chunk  # a fresh sum: tensor cores cut bits when they accumulate")

    def _is_single(self) -> bool:
        return self.step.a.tensor.dtype == "float32" or self.step.b.tensor.dtype == "float32"

    def _as_multiplied(self) -> tuple[str, str]:
        """The operands' texts in one dtype that the dot takes."""
        dtypes = {self.step.a.tensor.dtype, self.step.b.tensor.dtype}
        if dtypes == {"float32"} or (len(dtypes) == 1 and not self.interpreted):
            return "a", "b"
        self.lines.add("a = a.to(tl.float32)", "b = b.to(tl.float32)")
        return "a", "b"

    def _operand(self, letter: str, load: Load, start: str, *, rows: tuple[Axis, ...]) -> None:
        """Load a tile of an operand; a is (m, k), b is (k, n)."""
        k_axes = {axis.name for axis in self.step.k}
        along = Affine(tuple(t for t in load.index.terms if t[0] in k_axes))
        row, column = ("[:, None]", "[None, :]") if letter == "a" else ("[None, :]", "[:, None]")
        text = affine(along, self.axis)
        offset = f"({text})" if not text.isidentifier() else text
        tile = Tile(self._shaped(rows, row, column), self.tile.sizes)
        masks = [
            self.tile.masks[group[0].name] + side
            for group, side in ((rows, row), (self.step.k, column))
            if group and group[0].name in self.tile.masks
        ]
        for bound in load.bounds:
            masks.extend(inside(bound, tile))
        index = f"{start}{row} + {offset}{column}"
        guard = f", mask={' & '.join(masks)}, other=0.0" if masks else ""
        pointer = _in_three(load.tensor) if self.split_before else tile_name(load.tensor)
        if not self.split_before:
            self.lines.add(f"{letter} = tl.load({pointer} + {index}{guard})")
            return
        extent = _extent(load.tensor)
        self.lines.add(f"{letter}_index = {index}")
        for part in range(3):
            shift = f" + {part * extent}" if part else ""
            self.lines.add(f"{letter}{part} = tl.load({pointer}{shift} + {letter}_index{guard})")

    def _shaped(self, rows: tuple[Axis, ...], row: str, column: str) -> dict[str, str]:
        """By axis: its expression, with the tile's dimension that it runs along."""
        texts = {axis.name: self.axis[axis.name] for axis in self.step.batch}
        texts |= {axis.name: self.axis[axis.name] + row for axis in rows}
        return texts | {axis.name: self.axis[axis.name] + column for axis in self.step.k}

    def _split_inside(self, letter: str) -> None:
        rest, interpreted = f"{letter}_rest", self.interpreted
        middle = f"({rest} - {letter}1.to(tl.float32))"
        self.lines.add(
            f"{letter}0 = {_to_bfloat16(letter, interpreted=interpreted)}",
            f"{rest} = {letter} - {letter}0.to(tl.float32)",
            f"{letter}1 = {_to_bfloat16(rest, interpreted=interpreted)}",
            f"{letter}2 = {_to_bfloat16(middle, interpreted=interpreted)}",
        )

    # --- what follows the product ----------------------------------------------------------

    def _epilogue(self) -> None:
        """The step's body on the tile of sums."""
        tile = self.tile
        for axis in self.step.batch:
            tile.axis_text[axis.name] = self.axis[axis.name]
        for axes, shape in ((self.step.m, "[:, None]"), (self.step.n, "[None, :]")):
            for axis in axes:
                tile.axis_text[axis.name] = self.axis[axis.name] + shape
                if axis.name in tile.masks:
                    tile.masks[axis.name] += shape
        body = Body(self.lines, self.names, interpreted=self.interpreted)
        outer = frozenset(a.name for a in (*self.step.batch, *self.step.m, *self.step.n))
        body.values["acc"] = Value("acc", "float32", outer)
        for op in self.step.body:
            body.emit(op, tile)
