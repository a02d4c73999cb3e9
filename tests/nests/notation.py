"""Short notation for programs of the loop language, and the register of those that are tested."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kernelwright.compiler.ir.ir import (
    Affine,
    Attention,
    Axis,
    Contraction,
    Kernel,
    Load,
    Program,
    Ref,
    Tensor,
    contiguous,
)

CASES: dict[str, Callable[[], Program]] = {}
"""Programs by name."""


def case(build: Callable[[], Program]) -> Callable[[], Program]:
    CASES[build.__name__] = build
    return build


def row_major(axes: Iterable[Axis], offset: int = 0) -> Affine:
    """The position of a point of ``axes`` in a row-major tensor over them."""
    terms: dict[str, int] = {}
    stride = 1
    for axis in reversed(tuple(axes)):
        terms[axis.name] = stride
        stride *= axis.size
    return Affine.of(terms, offset)


def program(*steps: Kernel | Contraction | Attention, inputs: tuple[Tensor, ...]) -> Program:
    """A program of these steps that returns what the last one writes."""
    outputs = tuple(Ref(t.name) for t in steps[-1].writes)
    return Program(inputs, (), steps, outputs)


def axes(text: str) -> tuple[Axis, ...]:
    """``axes("i8 j13")``: an axis i of size 8 and an axis j of size 13."""
    return tuple(Axis(word.rstrip("0123456789"), int(word.lstrip("abcdefghijklmnopqrstuvwxyz")))
                 for word in text.split())  # fmt: skip


def tensor(name: str, over: Iterable[Axis], dtype: str = "float32") -> Tensor:
    """A row-major tensor with one dimension per axis."""
    return contiguous(name, tuple(axis.size for axis in over), dtype)


def full(name: str, source: Tensor, over: Iterable[Axis]) -> Load:
    """A load of ``source`` at every point of ``over``."""
    return Load(name, source, row_major(over))
