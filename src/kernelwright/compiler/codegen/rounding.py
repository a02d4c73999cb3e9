"""Where a kernel must round a product, as PyTorch's own kernels for one operator each do.

Compilers for GPUs, and g++, make ``a - b * c`` one instruction that does not round the product.
What it is taken from was rounded: another product, a value out of memory, the largest or the mean
of that very product. Where the two are equal, what is left is that rounding instead of zero: at the
maximum of a softmax, in every element of a constant row that a norm divides by sqrt(eps), and a sum
of millions of them (a divergence of equal distributions) is nothing but that.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from kernelwright.compiler.ir.ir import Compute, Const, Iota, Op, Store

PRODUCTS = frozenset({"mul", "square"})
QUOTIENT = "div"
_PASSED_ON = frozenset({"where", "cast", "neg"})
"""Operators whose result is one of their operands, and is rounded no more than that."""
_SUMS = frozenset({"add", "sub", "maximum", "minimum"})


def opposed_products(body: Iterable[Op], fused: Collection[str] = PRODUCTS) -> frozenset[str]:
    """The names of the values, made by operators in ``fused``, that are subtracted from a rounded
    value, or from which one is subtracted."""
    made = {op.name: op for op in body if not isinstance(op, Store)}
    found: set[str] = set()
    for op in made.values():
        if isinstance(op, Compute) and op.op == "sub" and "float" in op.dtype:
            for one, other in (op.args, reversed(op.args)):
                if _is_rounded(other, made):
                    found |= _products(one, made, fused)
    return frozenset(found)


def _products(name: str, made: Mapping[str, Op], fused: Collection[str]) -> set[str]:
    """The values by ``fused`` that the value may be."""
    op = made.get(name)
    if not isinstance(op, Compute):
        return set()
    if op.op in fused and "float" in op.dtype:
        return {name}
    if op.op not in _PASSED_ON:
        return set()
    return set[str]().union(*(_products(arg, made, fused) for arg in op.args))


def _is_rounded(name: str, made: Mapping[str, Op]) -> bool:
    """Whether a product may be equal to the value: not to a constant, nor to what a function such
    as exp has made."""
    seen: set[str] = set()
    waiting = [name]
    while waiting:
        name = waiting.pop()
        op = made.get(name)
        if name in seen or isinstance(op, Const | Iota):
            continue
        seen.add(name)
        if not isinstance(op, Compute) or op.op in PRODUCTS or op.op == QUOTIENT:
            return True  # a load, a reduction, a scan; what a contraction sums
        if op.op in _PASSED_ON or op.op in _SUMS:
            waiting += op.args
    return False
