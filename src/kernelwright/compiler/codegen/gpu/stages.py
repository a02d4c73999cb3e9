"""One step as several kernels: long reductions over few rows, and products with a long k.

Few rows cannot fill a GPU. Each row is cut into parts that are reduced side by side into a
workspace, and a second kernel reduces the parts: the same order every time, no atomics.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kernelwright.compiler.codegen.gpu.axes import (
    cone,
    size_of,
    split_axis,
    start_value,
)
from kernelwright.compiler.codegen.gpu.nest import nest
from kernelwright.compiler.codegen.gpu.variance import Spread, spreads
from kernelwright.compiler.ir.ir import (
    NARROW,
    Affine,
    Attention,
    Axis,
    Compute,
    Const,
    Contraction,
    Iota,
    Kernel,
    Load,
    Op,
    Recurrence,
    Reduce,
    Scan,
    Store,
    Tensor,
    Total,
    contiguous,
)
from kernelwright.compiler.ir.ops import arguments, mapped

_NEUTRAL = {"sum": 0, "prod": 1, "max": -math.inf, "min": math.inf, "any": False, "all": True}
_VALUE_OF = {"argmax": "max", "argmin": "min"}


@dataclass(frozen=True)
class Stages:
    """Kernels to run in order, and the tensors that they pass to each other."""

    steps: tuple[Kernel | Contraction | Recurrence | Attention, ...]
    workspace: tuple[Tensor, ...] = ()


def levels(kernel: Kernel) -> dict[str, int]:
    """Return how many passes over the inner axes must be complete before each named value is known.

    A value that needs no Reduce has level 0; a Reduce has one more than its argument.
    """
    level: dict[str, int] = {}
    for op in kernel.body:
        match op:
            case Store():
                continue
            case Reduce():
                level[op.name] = level[op.arg] + 1
            case Load():
                level[op.name] = max((level[v] for v, _ in op.gather), default=0)
            case Compute():
                level[op.name] = max((level[arg] for arg in op.args), default=0)
            case Scan():
                level[op.name] = max(level[arg] for arg in arguments(op))
            case Const() | Iota():
                level[op.name] = 0
    return level


def can_split(kernel: Kernel) -> bool:
    """Return whether ``split`` can cut the kernel. It needs reductions without scans and totals,
    argmax and argmin only along the first axis, and a last kernel that reads nothing that the
    kernel before has overwritten."""
    if any(isinstance(op, (Scan, Total)) for op in kernel.body):
        return False
    overwritten = {op.tensor.name for op in _stores(kernel, "outer")}
    later = cone(kernel.body, [op.value for op in _stores(kernel, "inner")])
    reads = [op for op in kernel.body if isinstance(op, Load) and op.name in later]
    if any(op.tensor.name in overwritten for op in reads):
        return False
    return any(isinstance(op, Reduce) for op in kernel.body)


def _stores(kernel: Kernel, scope: str) -> list[Store]:
    """Return the stores inside or outside the inner loops."""
    scopes = kernel.scopes()
    inner = {axis.name for axis in kernel.inner}
    return [
        op
        for op in kernel.body
        if isinstance(op, Store)
        and (scopes[op.value] == "inner" or bool(op.index.axes & inner)) == (scope == "inner")
    ]


def _axis_to_split(kernel: Kernel) -> Axis:
    if any(isinstance(op, Reduce) and op.op in _VALUE_OF for op in kernel.body):
        return kernel.inner[0]
    return max(kernel.inner, key=lambda axis: axis.size)


def split(kernel: Kernel, parts: int) -> Stages:
    """Return ``kernel`` with its longest inner axis cut into about ``parts`` parts.

    For every pass over the inner axes, one kernel reduces within the parts and one combines the
    parts' results; at the end, one kernel stores the values that need both the inner axes and a
    reduction. Values that need none are stored by the first kernel, which reads what they are
    computed from.
    """
    cut = _Cut.of(kernel, parts)
    level = levels(kernel)
    reduces = [op for op in kernel.body if isinstance(op, Reduce)]
    steps: list[Kernel | Contraction] = []
    last = max(level[op.name] for op in reduces)
    at_once = spreads(kernel, level) if cut.exact else []
    inner_stores = _stores(kernel, "inner")
    early = cut.early(inner_stores, level)
    for current in range(1, last + 1):
        here = [op for op in reduces if level[op.name] == current]
        if at_once:
            steps += [
                cut.partial(here, 1, early, at_once),
                cut.final(here, last, at_once, is_last=True),
            ]
            break
        steps.append(cut.partial(here, current, early if current == 1 else ()))
        steps.append(cut.final(here, current, is_last=current == last))
    if late := [op for op in inner_stores if op not in early]:
        steps.append(cut.rest(late))
    workspace = [t for step in steps for t in step.writes if t.name.startswith(f"{kernel.name}_")]
    kept = tuple(t for t in dict.fromkeys(workspace) if t not in kernel.writes)
    return Stages(tuple(steps), kept)


@dataclass(frozen=True)
class _Cut:
    """A kernel whose inner axis ``axis`` is ``part * part_size + within``."""

    kernel: Kernel
    axis: Axis
    part: Axis
    within: Axis

    @classmethod
    def of(cls, kernel: Kernel, parts: int) -> _Cut:
        axis = _axis_to_split(kernel)
        size, step = -(-axis.size // min(parts, axis.size)), 1
        for multiple in (1024, 32, 4):  # parts with an aligned start keep wide loads
            if size >= 4 * multiple:
                size, step = -(-size // multiple) * multiple, multiple
                break
        most = min(2 * size, axis.size)
        sizes = (*range(size, most, step), *range(size, most))
        size = next((n for n in sizes if axis.size % n == 0), size)
        part = Axis(f"{axis.name}_part", -(-axis.size // size))
        return cls(kernel, axis, part, Axis(f"{axis.name}_within", size))

    @property
    def exact(self) -> bool:
        return self.part.size * self.within.size == self.axis.size

    @property
    def outer(self) -> tuple[Axis, ...]:
        """The outer axes with the part among them: first where rows are neighbours in memory, so
        that they stay neighbours in a block."""
        kind, rows = nest(self.kernel).kind, self.kernel.outer
        return (self.part, *rows) if kind == "column" else (*rows, self.part)

    @property
    def inner(self) -> tuple[Axis, ...]:
        return tuple(self.within if a == self.axis else a for a in self.kernel.inner)

    def _split(self, op: Op) -> Op:
        pieces = {self.part.name: self.within.size, self.within.name: 1}
        return split_axis(op, self.axis.name, pieces, self.axis.size, covers_exactly=self.exact)

    def _result(self, op: Reduce | Load) -> Tensor:
        """Return the tensor of a finished value: one element per point of the outer axes."""
        shape = tuple(axis.size for axis in self.kernel.outer)
        dtype = op.tensor.dtype if isinstance(op, Load) else op.dtype
        return contiguous(f"{self.kernel.name}_{op.name}", shape, _kept(dtype))

    def _parts(self, name: str, dtype: str) -> Tensor:
        shape = tuple(axis.size for axis in self.outer)
        return contiguous(f"{self.kernel.name}_{name}_parts", shape, _kept(dtype))

    def _load_result(self, op: Reduce | Load) -> Load:
        return Load(op.name, self._result(op), row_major(self.kernel.outer))

    def _overwritten(self) -> list[Load]:
        """Return the loads that read once per row from a tensor that the last kernel overwrites.
        Another block of that kernel may have written there before this one reads."""
        scopes = self.kernel.scopes()
        stored = {op.tensor.name for op in _stores(self.kernel, "inner")}
        loads = [op for op in self.kernel.body if isinstance(op, Load)]
        return [op for op in loads if op.tensor.name in stored and scopes[op.name] == "outer"]

    def _before(self, roots: list[str], level: int) -> list[Op]:
        """Return the ops under ``roots``, with reductions of earlier passes loaded instead of
        computed."""
        known = levels(self.kernel)
        reduces = {op.name: op for op in self.kernel.body if isinstance(op, Reduce)}
        done = frozenset(name for name in reduces if known[name] < level)
        needed = cone(self.kernel.body, roots, stop=done)
        read = {arg for op in self.kernel.body if _name(op) in needed for arg in arguments(op)}
        ops: list[Op] = []
        for op in self.kernel.body:
            if isinstance(op, Store):
                continue
            if op.name in done and (op.name in read or op.name in roots):
                ops.append(self._load_result(reduces[op.name]))
            elif op.name in needed:
                ops.append(op)
        return ops

    def early(self, stores: Sequence[Store], level: Mapping[str, int]) -> list[Store]:
        """Return those of ``stores`` that the first kernel can do: no reduction is needed before,
        and nothing reads what they overwrite."""
        read = {tensor.name for tensor in self.kernel.reads}
        can = [op for op in stores if not level[op.value] and op.tensor.name not in read]
        return can if self.exact else []

    def partial(
        self,
        reduces: list[Reduce],
        level: int,
        stores: Sequence[Store] = (),
        at_once: Sequence[Spread] = (),
    ) -> Kernel:
        """Return the kernel that reduces every part of every row for one pass and for the sums that
        are done ``at_once``, and does ``stores``."""
        roots = [*(op.arg for op in reduces), *(op.value for op in stores)]
        body = [self._split(op) for op in (*self._before(roots, level), *stores)]
        outer = self.outer
        guard, args = self._guard(reduces)
        body.extend(guard)
        for op in reduces:
            body.extend(self._partial_reduce(op, args[op.name], outer))
        for spread in at_once:
            ops, square = spread.of_part(size_of(self.inner))
            body.extend([*ops, *self._partial_reduce(spread.total, square, outer)])
        name = f"{self.kernel.name}_parts" + ("" if level == 1 else str(level))
        return replace(self.kernel, name=name, outer=outer, inner=self.inner, body=tuple(body))

    def _guard(self, reduces: list[Reduce]) -> tuple[list[Op], dict[str, str]]:
        """Return the ops that keep points past the axis's end out of the reductions."""
        args = {op.name: op.arg for op in reduces}
        if self.exact:
            return [], args
        position = Affine.of({self.part.name: self.within.size, self.within.name: 1})
        ops: list[Op] = [
            Iota("part_position", position),
            Const("part_end", self.axis.size, "int64"),
            Compute("part_inside", "lt", ("part_position", "part_end"), "bool"),
        ]
        held = dtypes(self.kernel)
        for op in reduces:
            dtype = held[op.arg]
            value = _neutral(_VALUE_OF.get(op.op, op.op), dtype)
            ops.append(Const(f"{op.name}_neutral", value, dtype))
            args[op.name] = f"{op.name}_guarded"
            choice = ("part_inside", op.arg, f"{op.name}_neutral")
            ops.append(Compute(args[op.name], "where", choice, dtype))
        return ops, args

    def _partial_reduce(self, op: Reduce, arg: str, outer: tuple[Axis, ...]) -> list[Op]:
        where = row_major(outer)
        if op.op not in _VALUE_OF:
            name = f"{op.name}_part"
            store = Store(self._parts(op.name, op.dtype), where, name)
            return [replace(op, name=name, arg=arg), store]
        dtype = dtypes(self.kernel)[op.arg]
        ahead = size_of(self.inner)
        place, best, start, index = (f"{op.name}_{x}" for x in ("at", "best", "first", "index"))
        return [
            Reduce(best, _VALUE_OF[op.op], arg, dtype),
            Reduce(place, op.op, arg, "int64"),
            Iota(start, Affine.of({self.part.name: ahead})),
            Compute(index, "add", (place, start), "int64"),
            Store(self._parts(op.name, dtype), where, best),
            Store(self._parts(f"{op.name}_index", "int64"), where, index),
        ]

    def final(
        self, reduces: list[Reduce], level: int, at_once: Sequence[Spread] = (), *, is_last: bool
    ) -> Kernel:
        """Return the kernel that reduces the parts; the last one also stores the values without
        inner axes."""
        outer = self.kernel.outer
        at_parts = row_major(self.outer)
        inner_reads = self._read_later(level, is_last=is_last)
        body: list[Op] = []
        for op in reduces:
            body.extend(self._final_reduce(op, at_parts))
        for spread in at_once:
            (loaded, _) = self._final_reduce(spread.total, at_parts)
            of_parts = spread.of_parts(self.kernel, loaded, size_of(self.inner))
            known = {op.name for op in body}
            body.extend(op for op in of_parts if op.name not in known)
        for op in (*reduces, *(spread.total for spread in at_once)):
            if op.name in inner_reads:
                body.append(Store(self._result(op), row_major(outer), op.name))
        if is_last:
            stores = _stores(self.kernel, "outer")
            here = {_name(op) for op in body}
            roots = [op.value for op in stores]
            roots += [op.name for op in self._overwritten()]
            body.extend(op for op in self._before(roots, level + 1) if _name(op) not in here)
            body.extend(stores)
            for load in self._overwritten():
                body.append(Store(self._result(load), row_major(outer), load.name))
        name = f"{self.kernel.name}_whole" + ("" if level == 1 else str(level))
        return replace(self.kernel, name=name, inner=(self.part,), body=tuple(body))

    def _final_reduce(self, op: Reduce, at_parts: Affine) -> list[Op]:
        if op.op not in _VALUE_OF:
            parts = f"{op.name}_parts"
            load = Load(parts, self._parts(op.name, op.dtype), at_parts)
            return [load, replace(op, arg=parts)]
        dtype = dtypes(self.kernel)[op.arg]
        parts, winner = f"{op.name}_parts", f"{op.name}_winner"
        index = self._parts(f"{op.name}_index", "int64")
        row = Affine(tuple(t for t in at_parts.terms if t[0] != self.part.name))
        return [
            Load(parts, self._parts(op.name, dtype), at_parts),
            Reduce(winner, op.op, parts, "int64"),
            Load(op.name, index, row, gather=((winner, 1),)),
        ]

    def _read_later(self, level: int, *, is_last: bool) -> set[str]:
        """Return the reductions of this pass that a later kernel reads."""
        known = levels(self.kernel)
        roots = [op.value for op in _stores(self.kernel, "inner")]
        roots += [
            op.arg for op in self.kernel.body if isinstance(op, Reduce) and known[op.name] > level
        ]
        if not is_last:
            roots += [op.value for op in _stores(self.kernel, "outer")]
        return cone(self.kernel.body, roots)

    def rest(self, stores: list[Store]) -> Kernel:
        """Return a pointwise kernel over all axes that stores the values that need the inner
        axes."""
        needed = self._before([op.value for op in stores], 1 + max(levels(self.kernel).values()))
        kept = self._overwritten()
        body = [self._load_result(op) if op in kept else op for op in needed]
        axes = (*self.kernel.outer, *self.kernel.inner)
        name = f"{self.kernel.name}_apply"
        return replace(self.kernel, name=name, outer=axes, inner=(), body=(*body, *stores))


def split_k(step: Contraction, parts: int) -> Stages:
    """Return ``step`` with its sum cut into ``parts`` products side by side, added by a second
    kernel."""
    (axis,) = step.k
    size = -(-axis.size // parts)
    size = -(-size // 64) * 64
    part = Axis(f"{axis.name}_part", -(-axis.size // size))
    within = Axis(f"{axis.name}_within", size)
    exact = part.size * within.size == axis.size
    pieces = {part.name: size, within.name: 1}
    cut = mapped(
        step, lambda op: split_axis(op, axis.name, pieces, axis.size, covers_exactly=exact)
    )
    outer = (*step.batch, *step.m, *step.n)
    shape = (part.size, *(axis.size for axis in outer))
    at = row_major((part, *outer))
    names = {"acc": f"{step.name}_sums", "acc_twin": f"{step.name}_sums_of_twin"}
    sums = {word: contiguous(names[word], shape, "float32") for word, _ in step.sums}
    product = replace(
        cut, name=f"{step.name}_parts", batch=(part, *step.batch), k=(within,),
        body=tuple(Store(tensor, at, word) for word, tensor in sums.items()),
    )  # fmt: skip
    added = (
        op
        for word, tensor in sums.items()
        for op in (
            Load(f"{word}_part", tensor, at),
            Reduce(word, "sum", f"{word}_part", "float32"),
        )
    )
    body = (*added, *step.body)
    whole = Kernel(f"{step.name}_whole", outer, (part,), body, step.origin)
    return Stages((product, whole), tuple(sums.values()))


def row_major(axes: tuple[Axis, ...]) -> Affine:
    """Return the row-major number of a point of ``axes``."""
    terms: dict[str, int] = {}
    stride = 1
    for axis in reversed(axes):
        terms[axis.name] = stride
        stride *= axis.size
    return Affine.of(terms)


def _kept(dtype: str) -> str:
    """Return the dtype in which partial results are kept: float32 for half-precision types."""
    return "float32" if dtype in NARROW else dtype


def _neutral(op: str, dtype: str) -> float | int | bool:
    if dtype == "bool":
        return bool(_NEUTRAL[op])
    if op in ("max", "min"):
        return start_value(op, dtype)
    return float(_NEUTRAL[op]) if "float" in dtype else int(_NEUTRAL[op])


def dtypes(kernel: Kernel) -> dict[str, str]:
    """Return the dtype of every named value."""
    return {
        op.name: op.tensor.dtype if isinstance(op, Load) else getattr(op, "dtype", "int64")
        for op in kernel.body
        if not isinstance(op, Store)
    }


def _name(op: Op) -> str:
    return "" if isinstance(op, Store) else op.name
