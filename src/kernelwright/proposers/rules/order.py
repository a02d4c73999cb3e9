"""The order in which variants are tried, by a task's heaviest convolution, as measured on an H200.

A search may have only seconds, and a candidate takes two to eight of them, so the first two or
three candidates decide.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Any

from torch import fx

from kernelwright.compiler.capture.recurrent import CELLS
from kernelwright.compiler.codegen.triton.convolution_schedule import LEAST_CHANNELS
from kernelwright.compiler.ir.interpret import dtype_name
from kernelwright.compiler.lower.graph import name_of
from kernelwright.compiler.lower.products import is_narrow
from kernelwright.compiler.rewrite.terms import Term, shape_of, term_of

OWN, FUSED = "fused, own matmul", "fused"
ORDINARY, LAST = "fused, plain convolutions", "fused, channels last"
DEPTHWISE = "fused, channels last, own depthwise"
"""Windows of neighbouring channels are read in packs in CUDA. In Triton a depthwise convolution of
5 by 5 taps over 672 channels, with the norm before it, took 4.1 ms on an H200, the library's 0.75.
"""
NARROW = "fused, channels last, narrow convolutions"
POSITIONS = "fused, channels last, own products"
MANY = 6
"""Number of convolutions above which the first candidate is in CUDA, which compiles its many
kernels at once, and leaves convolutions to the library: building own ones takes one to two seconds
each. With channels last the kernels of ResNet18 and DenseNet121 took 0.79 and 0.89 of the time of
the compiler's on an H100; without, calls took 1.14 and 1.10 times a compiled graph's on an H200."""
_PRODUCTS = frozenset({
    "linear", "matmul", "mm", "bmm", "addmm", "einsum", "_grouped_mm", "_scaled_mm",
})  # fmt: skip
_DIALECTS = ("cpp", "triton", "cuda", "torch")


@dataclass(frozen=True)
class Convolution:
    """The properties of a convolution that decide which implementation is fastest."""

    n_dims: int
    channels: int
    """Number of input channels in a group."""
    groups: int
    is_transposed: bool
    has_steps: bool
    is_narrow: bool = False
    """Whether its numbers have 16 bits."""
    is_slow: bool = False
    """Whether the library is slow at it with channels last."""


def convolutions(graphs: Iterable[fx.Graph]) -> list[Convolution]:
    """Return all convolutions, the heaviest first."""
    found = [(_weight(node, term), _described(node, term)) for node, term in _convolved(graphs)]
    return [described for _, described in sorted(found, key=lambda one: -one[0])]


def _convolved(graphs: Iterable[fx.Graph]) -> Iterator[tuple[fx.Node, Term]]:
    """Yield the convolutions whose weights are graph values."""
    for graph in graphs:
        for node in graph.nodes:
            term = term_of(node) if node.op == "call_function" else None
            if term is None:
                continue
            if term.op.startswith("conv") and isinstance(term.args[1], fx.Node):
                yield node, term


def _weight(node: fx.Node, term: Term) -> int:
    at = term.args[0] if "transpose" in term.op else node
    return math.prod(shape_of(at)[2:]) * shape_of(at)[0] * math.prod(shape_of(term.args[1]))


def _described(node: fx.Node, term: Term) -> Convolution:
    weight, stride = shape_of(term.args[1]), term.args[3]
    image, dtype = shape_of(term.args[0]), dtype_name(node.meta["val"].dtype)
    is_transposed = "transpose" in term.op
    groups = term.args[6]
    channels = weight[0] // groups if is_transposed else weight[1]
    return Convolution(
        len(weight) - 2,
        channels,
        groups,
        is_transposed,
        has_steps=any(s != 1 for s in stride),
        is_narrow=term.args[1].meta["val"].dtype.itemsize == 2,
        is_slow=not is_transposed and is_narrow(image, weight, shape_of(node), dtype),
    )


def is_mostly_products(graphs: Sequence[fx.Graph]) -> bool:
    """Whether matrix products are more work than convolutions.

    This is so for a transformer's layers beside convolutions of one tap, or behind a convolution
    that cuts an image into patches.
    """
    products = [n for graph in graphs for n in graph.nodes if name_of(n) in _PRODUCTS - {"einsum"}]
    convolved = sum(_weight(node, term) for node, term in _convolved(graphs))
    return sum(map(_multiplications, products)) > convolved


def _multiplications(product: fx.Node) -> int:
    """Return the number of multiplications in a matrix product."""
    operands = product.args[1:] if name_of(product) == "addmm" else product.args
    left = next(arg for arg in operands if isinstance(arg, fx.Node))
    return math.prod(shape_of(product)) * shape_of(left)[-1]


def operators(graphs: Iterable[fx.Graph]) -> set[str]:
    """Return the names of all operators."""
    return {name_of(n) for graph in graphs for n in graph.nodes if n.op == "call_function"}


def leading(found: Sequence[Convolution], names: Set[str]) -> tuple[tuple[str, str], ...]:
    """Return the (variant, dialect) pairs to try first for these convolutions and operators.

    They are the best one and three different ones. Networks run with channels last first, as the
    library's compiler runs them: its convolutions then change no layouts. So do transposed
    convolutions of wide steps: of six such tasks it was the fastest for all on an H200.
    Own convolutions beside others are the library's match only where it is slow.
    """
    if not names.isdisjoint(CELLS):
        return ((OWN, "cuda"), (OWN, "cuda"), (OWN, "cuda"))
    if not found and names & _PRODUCTS:
        return ((OWN, "triton"), (OWN, "triton"), (FUSED, "triton"))
    if not found:
        return ()
    own, fused, heaviest = (OWN, "triton"), (FUSED, "triton"), found[0]
    is_slow = len(found) > 1 and any(each.is_slow for each in found)
    last = (NARROW if is_slow else LAST, "triton")
    if len(found) > MANY and heaviest.n_dims == 1:
        return ((FUSED, "cuda"), fused, own)
    if len(found) > MANY:
        has_depthwise = any(each.groups > 1 == each.channels for each in found)
        first = (DEPTHWISE if has_depthwise else LAST, "cuda")
        ways = (first, (FUSED, "cuda"), last, own)
        return ((POSITIONS, "triton"), *ways) if heaviest.is_narrow else ways
    if heaviest.groups > 1:
        return (own, own, (OWN, "cuda"), own)
    if heaviest.is_transposed and not heaviest.has_steps and heaviest.n_dims != 2:
        return (own, (ORDINARY, "triton"), fused, own)
    if heaviest.is_transposed and heaviest.has_steps:
        return (last, own, last, fused)
    if heaviest.channels < LEAST_CHANNELS:
        return (own, own, fused, own)
    is_last = len(found) > 1 and heaviest.n_dims > 1
    return (own, last, fused, own) if is_last else (own, fused, last, own)


def in_order(
    pairs: Iterable[tuple[Any, Any]], found: Sequence[Convolution], names: Set[str]
) -> list[Any]:
    """Sort (variant, emitter) pairs: the leading ones first, then the others in their order.

    A pair that leads twice is in the result twice. Own products of many convolutions come last.
    """
    rest = list(pairs)
    by_name = {(variant.name, emitter.dialect): (variant, emitter) for variant, emitter in rest}
    first = [by_name[name] for name in leading(found, names) if name in by_name]
    others = [pair for pair in rest if pair not in first]
    if found:
        others.sort(key=lambda pair: _DIALECTS.index(pair[1].dialect))
    if len(found) > MANY:
        others.sort(key=lambda pair: pair[0].products)
    return first + others
