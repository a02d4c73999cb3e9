"""The products that a kernel must round, as PyTorch does by running one kernel per operator.

Compilers for GPUs, and g++, turn ``a - b * c`` into one instruction that does not round the
product. The value it is subtracted from was rounded: another product, a value from memory, or the
maximum or mean of that very product. If the two are equal, the difference is that rounding error
instead of zero. This happens at the maximum of a softmax, and in every element of a constant row
that a norm divides by sqrt(eps); a sum of millions of them (a divergence of equal distributions)
consists of nothing else.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from kernelwright.compiler.ir.ir import Compute, Const, Iota, Op, Store

PRODUCTS = frozenset({"mul", "square"})
QUOTIENT = "div"
_PASSED_ON = frozenset({"where", "cast", "neg"})
"""Operators whose result is one of their operands, without further rounding."""
_SUMS = frozenset({"add", "sub", "maximum", "minimum"})


def opposed_products(body: Iterable[Op], fused: Collection[str] = PRODUCTS) -> frozenset[str]:
    """Return the values, computed by operators in ``fused``, that are subtracted from a rounded
    value, or from which a rounded value is subtracted."""
    made = {op.name: op for op in body if not isinstance(op, Store)}
    found: set[str] = set()
    for op in made.values():
        if isinstance(op, Compute) and op.op == "sub" and "float" in op.dtype:
            for one, other in (op.args, reversed(op.args)):
                if _is_rounded(other, made):
                    found |= _products(one, made, fused)
    return frozenset(found)


def _products(name: str, made: Mapping[str, Op], fused: Collection[str]) -> set[str]:
    """Return the values computed by ``fused`` that the named value may be equal to."""
    op = made.get(name)
    if not isinstance(op, Compute):
        return set()
    if op.op in fused and "float" in op.dtype:
        return {name}
    if op.op not in _PASSED_ON:
        return set()
    return set[str]().union(*(_products(arg, made, fused) for arg in op.args))


def _is_rounded(name: str, made: Mapping[str, Op]) -> bool:
    """Return whether a product may be equal to the value; it is not expected to equal a constant,
    or the result of a function such as exp."""
    seen: set[str] = set()
    waiting = [name]
    while waiting:
        name = waiting.pop()
        op = made.get(name)
        if name in seen or isinstance(op, Const | Iota):
            continue
        seen.add(name)
        if not isinstance(op, Compute) or op.op in PRODUCTS or op.op == QUOTIENT:
            return True  # a load, a reduction, a scan, or the sum of a contraction
        if op.op in _PASSED_ON or op.op in _SUMS:
            waiting += op.args
    return False
