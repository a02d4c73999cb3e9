"""Where a kernel must round every product, as PyTorch's own kernels for one operator each do.

Compilers for GPUs, and g++, make ``a - b * c`` one instruction that does not round the product. Of
two products that are taken from each other only one is rounded then: where they are equal, what is
left is that rounding instead of zero, and a sum of millions of them (a divergence of equal
distributions) is nothing but that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kernelwright.propose.rules.ir import Compute, Op

_PRODUCTS = ("mul", "square")
_PASSED_ON = ("where", "cast", "neg")
"""Operators whose result is one of their operands, and is rounded no more than that."""


def opposed_products(body: Iterable[Op]) -> frozenset[str]:
    """The names of the products of which one is subtracted from another."""
    made = {op.name: op for op in body if isinstance(op, Compute)}
    found: set[str] = set()
    for op in made.values():
        if op.op == "sub" and "float" in op.dtype:
            sides = [_products(arg, made) for arg in op.args]
            if all(sides):
                found.update(*sides)
    return frozenset(found)


def _products(name: str, made: Mapping[str, Op]) -> set[str]:
    """The products that the value may be."""
    op = made.get(name)
    if not isinstance(op, Compute):
        return set()
    if op.op in _PRODUCTS and "float" in op.dtype:
        return {name}
    if op.op not in _PASSED_ON:
        return set()
    return set[str]().union(*(_products(arg, made) for arg in op.args))
