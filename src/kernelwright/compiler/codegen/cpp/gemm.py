"""C++ for contractions: operands and epilogue are lambdas passed to the prelude's blocked
product."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from kernelwright.compiler.codegen.cpp.loop import parameters
from kernelwright.compiler.codegen.cpp.rows import write_constants
from kernelwright.compiler.codegen.cpp.text import Text, Values
from kernelwright.compiler.ir.axes import in_terms_of, joined, longer
from kernelwright.compiler.ir.ir import (
    NARROW,
    Axis,
    Const,
    Contraction,
    Load,
    Op,
    Store,
)
from kernelwright.compiler.ir.ops import arguments, indices, with_indices
from kernelwright.compiler.ir.sizes import names_in, number

TILE_KNOBS = ("mr", "nv", "mc", "nc", "kc")
ACC = Const("acc", 0.0, "float32")
"""Placeholder for the accumulated sum in the epilogue's list of named values."""


@dataclass(frozen=True)
class Product:
    """A contraction with as few axes as possible, whose vectorised side is called columns.

    Columns are the side along which results are contiguous in memory.
    """

    batch: tuple[Axis, ...]
    rows: tuple[Axis, ...]
    columns: tuple[Axis, ...]
    k: tuple[Axis, ...]
    left: Load
    """Indexed by batch, rows and k."""
    right: Load
    """Indexed by batch, columns and k."""
    body: tuple[Op, ...]

    @cached_property
    def m(self) -> int:
        return math.prod(axis.size for axis in self.rows)

    @cached_property
    def n(self) -> int:
        return math.prod(axis.size for axis in self.columns)

    @cached_property
    def n_k(self) -> int:
        return math.prod(axis.size for axis in self.k)

    def runs_along_k(self, operand: Load) -> bool:
        """Return whether an operand is contiguous along k, so that vectors can be read from it."""
        is_plain = operand.tensor.dtype == "float32" and len(self.k) == 1
        return is_plain and operand.index.coefficient(self.k[0].name) == 1

    @cached_property
    def n_batch(self) -> int:
        return math.prod(axis.size for axis in self.batch)


def product_of(step: Contraction) -> Product:
    """Return ``step`` with axes joined where possible, and with rows and columns assigned."""
    ops = (step.a, step.b, *step.body)
    used = [index for op in ops for index in indices(op)]
    names: dict[str, str] = {}
    sides = []
    for group in (step.batch, step.m, step.n, step.k):
        axes, kept = joined(longer(group), used)
        names |= kept
        sides.append(axes)
    batch, m, n, k = sides
    a, b, *body = (with_indices(op, lambda index: in_terms_of(index, names)) for op in ops)
    if _is_contiguous(m, body) and not _is_contiguous(n, body):
        return Product(batch, n, m, k, b, a, tuple(body))
    return Product(batch, m, n, k, a, b, tuple(body))


def _is_contiguous(axes: tuple[Axis, ...], body: list[Op]) -> bool:
    stores = [op.index for op in body if isinstance(op, Store)]
    return bool(axes) and all(index.coefficient(axes[-1].name) == 1 for index in stores)


def contraction_text(step: Contraction, knobs: Mapping[str, Any]) -> str:
    """Return the C++ function for ``step``; it has the step's name."""
    return str(_Writer(step, knobs).function())


class _Writer:
    """The writer of one contraction's text."""

    def __init__(self, step: Contraction, knobs: Mapping[str, Any]) -> None:
        self.step, self.knobs = step, knobs
        self.product = product_of(step)
        self.text = Text()
        self.reads, self.writes = parameters(step)
        p = self.product
        axes = [*p.batch, *p.rows, *p.columns, *p.k]
        self.v = Values([*self.reads, *self.writes], axes, (ACC, *p.body))

    def function(self) -> Text:
        text, p, knobs = self.text, self.product, self.knobs
        for line in self.step.origin:
            text.line(f"// {line}")
        batch = f"{p.n_batch} times " if p.n_batch > 1 else ""
        text.line(f"// {batch}{p.m} rows by {p.n} columns, summed over {p.n_k}")
        parameters = self.v.parameters(self.reads, self.writes, names_in(self.step))
        head = f'extern "C" void {self.step.name}({parameters})'
        with text.block(head):
            write_constants(text, self.v, p.body)
            if p.m and p.n and p.n_batch:
                threads = "true" if knobs["parallel"] == "inner" else "false"
                kind, keys = ("few", ("mr",)) if knobs["few"] else ("cut", TILE_KNOBS)
                sizes = ", ".join(str(knobs[key]) for key in keys)
                whole = f"{number(p.n)}, {number(p.n_k)}"
                text.line(f"using cut = gemm::{kind}<{whole}, {sizes}, {threads}>;")
                self._batches()
        return text

    def _batches(self) -> None:
        text = self.text
        heads = [
            f"for (index {self.v.axis[a.name]} = 0; {self.v.axis[a.name]} < {a.size}; "
            f"++{self.v.axis[a.name]})"
            for a in self.product.batch
        ]
        if heads and self.knobs["parallel"] == "outer":
            collapse = f" collapse({len(heads)})" if len(heads) > 1 else ""
            text.directive(f"omp parallel for{collapse} schedule(static)")
        with text.loops(heads):
            self._product()

    def _product(self) -> None:
        text, p = self.text, self.product
        self._operand("rows", p.left, p.rows)
        self._operand("columns", p.right, p.columns)
        self._finish()
        if self.knobs["few"]:
            text.line(f"gemm::dots<cut>({p.m}, rows, columns, finish);")
            return
        along = ", ".join("true" if p.runs_along_k(load) else "false" for load in (p.left, p.right))
        text.line(f"gemm::tiles<cut, {along}>({p.m}, rows, columns, finish);")

    def _operand(self, name: str, load: Load, group: tuple[Axis, ...]) -> None:
        head = f"const auto {name} = [&](int at, int k_at) __attribute__((always_inline))"
        with self.text.block(head, "};"):
            self._unfold("at", group)
            self._unfold("k_at", self.product.k)
            if self.product.runs_along_k(load):
                pointer = self.v.pointer[load.tensor.name]
                self.text.line(f"return {pointer} + ({self.v.index(load.index)});")
            else:
                self.text.line(f"return {self.v.load(load)};")

    def _unfold(self, flat: str, group: tuple[Axis, ...]) -> None:
        """Define the axes of a group from the flat number of an element in the group."""
        below = 1
        lines = []
        for position, axis in enumerate(reversed(group)):
            text = flat if below == 1 else f"{flat} / {below}"
            if position < len(group) - 1:
                text = f"{text} % {axis.size}"
            lines.append(f"const index {self.v.axis[axis.name]} = {text};")
            below *= axis.size
        for line in reversed(lines):
            self.text.line(line)

    def _finish(self) -> None:
        """Write the epilogue: values that depend on rows only are computed once per row, the rest
        per lane."""
        text, p = self.text, self.product
        columns = {axis.name for axis in p.columns}
        varies: dict[str, bool] = {"acc": True}
        ops = [op for op in p.body if not isinstance(op, Const)]
        for op in ops:
            here = any(index.axes & columns for index in indices(op))
            if not isinstance(op, Store):
                varies[op.name] = here or any(varies.get(arg, False) for arg in arguments(op))
        text.line(
            "const auto finish = [&](const float* sums, int m_begin, int n_rows, int n_begin,"
        )
        with (
            text.block(
                "                        int n_columns) __attribute__((always_inline))", "};"
            ),
            text.block("for (int i = 0; i < n_rows; ++i)"),
        ):
            text.line("const int m_at = m_begin + i;")
            self._unfold("m_at", p.rows)
            for op in ops:
                if not isinstance(op, Store) and not varies[op.name]:
                    text.line(self.v.statement(op))
            text.directive("omp simd")
            with text.block("for (int l = 0; l < n_columns; ++l)"):
                text.line("const int n_at = n_begin + l;")
                self._unfold("n_at", p.columns)
                text.line(f"const float {self.v.name['acc']} = sums[i * cut::nr + l];")
                for op in ops:
                    if isinstance(op, Store) or varies[op.name]:
                        text.line(self.v.statement(op))


def supports(step: Contraction) -> bool:
    """Return whether the step is a matrix product in float32 or a half-precision type.

    Not covered: sums over several axes that cannot be joined (convolutions other than 1 x 1, for
    which the library is faster), bounds or gathers in an operand, float64.
    """
    operands = (step.a, step.b)
    if step.stretches or not step.is_plain or any(load.bounds or load.gather for load in operands):
        return False
    if any(load.tensor.dtype not in ("float32", *NARROW) for load in operands):
        return False
    return len(product_of(step).k) <= 1
