"""A kernel's body as passes over its inner axes: a value that needs a finished reduction is
computed in a later pass."""

from __future__ import annotations

from dataclasses import dataclass

from kernelwright.compiler.codegen.gpu.axes import cone
from kernelwright.compiler.codegen.gpu.stages import levels
from kernelwright.compiler.ir.ir import Kernel, Op, Reduce, Store
from kernelwright.compiler.ir.ops import arguments


@dataclass(frozen=True)
class Pass:
    """The ops before a loop over the inner axes, and the ops in it (no loop if there are none)."""

    outer: tuple[Op, ...]
    inner: tuple[Op, ...]

    @property
    def reduces(self) -> list[Reduce]:
        """The reductions that the loop finishes."""
        return [op for op in self.inner if isinstance(op, Reduce)]


def passes(kernel: Kernel, *, keep: bool = False) -> list[Pass]:
    """Return the passes in order. A value of an earlier pass that a later one needs is recomputed
    there, or, with ``keep``, read from where the earlier pass kept it."""
    level = levels(kernel)
    scopes = kernel.scopes()
    read = {tensor.name for tensor in kernel.reads}
    inner_axes = {axis.name for axis in kernel.inner}

    def is_outer(op: Op) -> bool:
        if isinstance(op, Store):
            return scopes[op.value] == "outer" and not op.index.axes & inner_axes
        return scopes[op.name] == "outer"

    def level_of(op: Op) -> int:
        return level[op.value] if isinstance(op, Store) else level[op.name]

    ends = [level_of(op) for op in kernel.body if isinstance(op, Reduce)]
    ends += [level_of(op) + 1 for op in kernel.body if isinstance(op, Store) and not is_outer(op)]
    last = max(ends, default=0)

    def finished_in(op: Op, current: int) -> bool:
        if isinstance(op, Reduce):
            return level[op.arg] == current
        if not isinstance(op, Store) or is_outer(op):
            return False
        # a tensor that the kernel also reads is stored once no read of it is left
        return current == last - 1 if op.tensor.name in read else level[op.value] == current

    result: list[Pass] = []
    done: frozenset[str] = frozenset()
    for current in range(last + 1):
        outer = [op for op in kernel.body if is_outer(op) and level_of(op) == current]
        roots = [op for op in kernel.body if finished_in(op, current)]
        names = cone(kernel.body, [name for op in roots for name in arguments(op)], stop=done)
        inner = [
            op
            for op in kernel.body
            if op in roots or (not isinstance(op, Store) and op.name in names and not is_outer(op))
        ]
        if keep:
            done |= {op.name for op in inner if not isinstance(op, Store)}
        result.append(Pass(tuple(op for op in outer if not isinstance(op, Reduce)), tuple(inner)))
    return result


def kept_values(sequence: list[Pass]) -> set[str]:
    """Return the inner values that one pass computes and a later one reads."""
    made: dict[str, int] = {}
    kept: set[str] = set()
    for number, part in enumerate(sequence):
        for op in part.inner:
            kept |= {name for name in arguments(op) if made.get(name, number) < number}
            if not isinstance(op, (Store, Reduce)):
                made.setdefault(op.name, number)
    return kept
