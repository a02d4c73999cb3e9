"""Loop bodies from nodes: values are requested at coordinates, and computed where they are
needed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from kernelwright.compiler.fuse.flow import (
    Constant,
    Fold,
    Gather,
    Laid,
    Node,
    Point,
    Position,
    Reshape,
    Row,
    Running,
    View,
    in_memory,
)
from kernelwright.compiler.ir.indexing import ZERO, extent, plus, ravel, times, unravel
from kernelwright.compiler.ir.ir import (
    NARROW,
    Affine,
    Axis,
    Bound,
    Compute,
    Const,
    Iota,
    Load,
    Op,
    Reduce,
    Scan,
    Store,
    Tensor,
    Total,
    contiguous,
)
from kernelwright.compiler.ir.ops import arguments

Coordinates = tuple[Affine, ...]
Bounds = tuple[Bound, ...]


class DoesNotFit(Exception):
    """The nodes cannot share one loop nest."""


class BodyBuilder:
    """The body of one kernel while it is built.

    ``kept`` are the nodes that are in memory, with their tensors. ``members`` are the nodes that
    this kernel computes itself although they are kept, and reductions, which are never inlined.
    """

    def __init__(
        self, kept: Mapping[Node, Tensor], members: Sequence[Node], splits: Mapping[str, int]
    ) -> None:
        self.kept = kept
        self.members = frozenset(members)
        self.splits = splits
        self.sizes: dict[str, int] = {}
        self.ops: list[Op] = []
        self.home: dict[Node, Coordinates] = {}
        """Node → the coordinates at which the member was computed."""
        self.seen: dict[Node, Coordinates] = {}
        """Node → the coordinates at which it was first requested."""
        self.totals: dict[str, str] = {}
        """The name of a sum over all outer axes → the name of what it is the sum of. The kernel's
        end makes it, so that nothing but stores can use it."""
        self._names: dict[object, str] = {}

    def axis(self, name: str, size: int) -> tuple[Affine, list[Axis]]:
        """Add an axis, split where this was found necessary; return its value and its loops,
        outermost first."""
        if size == 1:
            return ZERO, []
        inner_size = self.splits.get(name)
        if inner_size is None:
            self.sizes[name] = size
            return Affine(((name, 1),)), [Axis(name, size)]
        outer, outer_axes = self.axis(name + "o", size // inner_size)
        inner, inner_axes = self.axis(name + "i", inner_size)
        return plus(times(outer, inner_size), inner), outer_axes + inner_axes

    def define(self, node: Node, coordinates: Coordinates, name: str) -> None:
        """Record that ``name`` is the value of ``node`` at ``coordinates``."""
        self.home[node] = coordinates
        self.seen.setdefault(node, coordinates)
        self._names[node, coordinates, ()] = name

    def store(self, node: Node, coordinates: Coordinates) -> None:
        """Store ``node`` to its tensor."""
        tensor = self.kept[node]
        index, value = self._address(tensor, coordinates), self.value(node, coordinates)
        if value in self.totals:
            self.ops.append(Total(tensor, index, self.totals[value]))
        else:
            self.ops.append(Store(tensor, index, value))

    def total(self, node: Fold, coordinates: Coordinates) -> str:
        """Return the name of the sum over all outer axes of ``node``'s argument at
        ``coordinates`` (of the argument)."""
        name = f"total_of_{len(self.totals)}"
        self.totals[name] = self.value(node.arg, coordinates)
        return name

    def is_total(self, node: Node) -> bool:
        """Return whether ``node`` is a sum over all outer axes, or is computed from such sums."""
        waiting, seen = [node], set[Node]()
        while waiting:  # not by recursion: a network before the kernel may be deep
            each = waiting.pop()
            if each in seen:
                continue
            seen.add(each)
            if each in self.home:
                if self._names[each, self.home[each], ()] not in self.totals:
                    return False
            elif each.args:
                waiting += each.args
            else:
                return False
        return True

    def require_finished(self) -> None:
        """Check that nothing is computed from a sum that only the kernel's end makes.

        Raises:
            DoesNotFit: something is.
        """
        if any(name in self.totals for op in self.ops for name in arguments(op)):
            raise DoesNotFit("a value is computed from a sum over all rows")

    def reduce(self, node: Fold, coordinates: Coordinates) -> str:
        """Reduce ``node``'s argument at ``coordinates`` (of the argument) over the inner axes."""
        arg, dtype = self.value(node.arg, coordinates), _internal(node.dtype)
        key = ("reduce", node.op, arg, dtype)
        if key not in self._names:
            self._names[key] = self._fresh(node.op)
            self.ops.append(Reduce(self._names[key], node.op, arg, dtype))
        return self._names[key]

    def scan(self, node: Running, coordinates: Coordinates) -> str:
        """Scan ``node``'s argument along the inner axis."""
        arg = self.value(node.arg, coordinates)
        factor = self.value(node.factor, coordinates) if node.factor else ""
        name = self._fresh("scan")
        dtype = _internal(node.dtype)
        self.ops.append(Scan(name, node.op, arg, dtype, node.reverse, factor=factor))
        return name

    def value(self, node: Node, coordinates: Coordinates, bounds: Bounds = ()) -> str:
        """Return the name of ``node``'s value at ``coordinates``, computed only where ``bounds``
        hold.

        Raises:
            DoesNotFit: it needs a reduction that is not available at these coordinates.
            NeedsSplit, NotAffine: as ``indexing.unravel``.
        """
        if self.home.get(node) == coordinates:
            bounds = ()  # the kernel has computed it, with or without them
        if not bounds:
            self.seen.setdefault(node, coordinates)
        key = (node, coordinates, bounds)
        if key not in self._names:
            self._names[key] = self._compute(node, coordinates, bounds)
        return self._names[key]

    def _compute(self, node: Node, at: Coordinates, bounds: Bounds) -> str:
        if self._is_in_memory(node):
            return self._load(node, at, self._needed(bounds, node, at), 0.0)
        match node:
            case Constant(value=value):
                return self._constant(value, node.dtype)
            case Position(dim=dim):
                return self._iota(at[dim])
            case Point():
                operands = tuple(self.value(arg, at, bounds) for arg in node.operands)
                return self._point(node, operands)
            case Reshape(arg=arg):
                inner = unravel(ravel(at, node.shape), arg.shape, self.sizes)
                return self.value(arg, tuple(inner), bounds)
            case View():
                return self._view(node, at, bounds)
            case Laid(arg=arg):
                return self.value(arg, at, bounds)
            case Gather():
                return self._gather(node, at, bounds)
        raise DoesNotFit(f"{type(node).__name__} at other coordinates than its own")

    def _is_in_memory(self, node: Node) -> bool:
        return node in self.kept and node not in self.members

    def _needed(self, bounds: Bounds, node: Node, at: Coordinates) -> Bounds:
        """Return the bounds that keep a load inside its tensor. Where another one does not hold,
        the value is not used: the two halves of a packed byte are one load."""
        moving = self._address(self.kept[node], at).axes
        return tuple(bound for bound in bounds if bound.index.axes & moving)

    def _point(self, node: Point, operands: tuple[str, ...]) -> str:
        dtype = _internal(node.dtype)
        if node.op == "cast" and dtype == _internal(node.operands[0].dtype):
            return operands[0]
        return self._emit(node.op, operands, dtype)

    def _view(self, node: View, at: Coordinates, bounds: Bounds) -> str:
        inner = tuple(apply(row, at) for row in node.rows)
        own = tuple(
            Bound(inner[dim], 0, node.arg.shape[dim])
            for dim in node.checked
            if not self._is_inside(inner[dim], node.arg.shape[dim])
        )
        if not own:
            return self.value(node.arg, inner, bounds)
        if self._is_in_memory(node.arg):
            return self._load(node.arg, inner, bounds + own, node.fill)
        value = self.value(node.arg, inner, bounds + own)
        fill = self._constant(node.fill, _internal(node.dtype))
        return self._emit("where", (self._holds(own), value, fill), _internal(node.dtype))

    def _is_inside(self, index: Affine, size: int) -> bool:
        low, high = extent(index, self.sizes)
        return low >= 0 and high < size

    def _holds(self, bounds: Bounds) -> str:
        holds = ""
        for bound in bounds:
            position = self._iota(bound.index)
            for op, limit in (("ge", bound.low), ("lt", bound.high)):
                test = self._emit(op, (position, self._constant(limit, "int64")), "bool")
                holds = self._emit("and", (holds, test), "bool") if holds else test
        return holds

    def _gather(self, node: Gather, at: Coordinates, bounds: Bounds) -> str:
        table = in_memory(node.table)
        if not self._is_in_memory(table):
            raise DoesNotFit(f"{type(node).__name__} gathers from a value that is not in memory")
        tensor = self.kept[table]
        is_other = table is not node.table
        seen = contiguous("", node.table.shape, node.table.dtype) if is_other else tensor
        index, gathers = ZERO, []
        for row, stride in zip(node.rows, seen.strides, strict=True):
            if isinstance(row, Node):
                gathers.append((self.value(row, at, bounds), stride))
            else:
                index = plus(index, times(apply(row, at), stride))
        return self._loaded(
            Load(self._fresh(tensor.name), tensor, index, bounds, 0.0, tuple(gathers))
        )

    def _load(self, node: Node, at: Coordinates, bounds: Bounds, fill: float) -> str:
        tensor = self.kept[node]
        index = self._address(tensor, at)
        return self._loaded(Load(self._fresh(tensor.name), tensor, index, bounds, fill))

    def _loaded(self, load: Load) -> str:
        key = ("load", load.tensor.name, load.index, load.bounds, str(load.fill), load.gather)
        if key not in self._names:
            self.ops.append(load)
            internal = _internal(load.tensor.dtype)
            half = load.tensor.dtype in NARROW
            self._names[key] = self._emit("cast", (load.name,), internal) if half else load.name
        return self._names[key]

    def _address(self, tensor: Tensor, at: Coordinates) -> Affine:
        return plus(*(times(c, stride) for c, stride in zip(at, tensor.strides, strict=True)))

    def _constant(self, value: float | int | bool, dtype: str) -> str:
        dtype = _internal(dtype)
        key = ("const", repr(value), dtype)
        if key not in self._names:
            self._names[key] = self._fresh("c")
            self.ops.append(Const(self._names[key], value, dtype))
        return self._names[key]

    def _iota(self, index: Affine) -> str:
        key = ("iota", index)
        if key not in self._names:
            self._names[key] = self._fresh("at")
            self.ops.append(Iota(self._names[key], index))
        return self._names[key]

    def _emit(self, op: str, args: tuple[str, ...], dtype: str) -> str:
        key = (op, args, dtype)
        if key not in self._names:
            self._names[key] = self._fresh(op)
            self.ops.append(Compute(self._names[key], op, args, dtype))
        return self._names[key]

    def _fresh(self, hint: str) -> str:
        return f"{hint}_{len(self.ops)}v"


def apply(row: Row, coordinates: Sequence[Affine]) -> Affine:
    """Evaluate a row's affine function at the coordinates."""
    terms, offset = row
    return plus(Affine((), offset), *(times(coordinates[dim], c) for dim, c in terms))


def _internal(dtype: str) -> str:
    """Return the dtype in which values are computed: float32 for half-precision types."""
    return "float32" if dtype in NARROW else dtype


def infer(body: BodyBuilder, node: Node) -> list[Affine | None]:
    """Return the coordinates of ``node`` that fit the values already in ``body``; None where
    unknown."""
    if node in body.home or node in body.seen:
        return list(body.home.get(node) or body.seen[node])
    unknown: list[Affine | None] = [ZERO if size == 1 else None for size in node.shape]
    if node in body.kept and node not in body.members:
        return unknown
    found = unknown
    match node:
        case Point():
            for operand in node.operands:
                known = infer(body, operand)
                found = [a if a is not None else b for a, b in zip(found, known, strict=True)]
        case Laid():
            found = infer(body, node.arg)
        case View():
            found = _through(node, infer(body, node.arg), body.sizes)
        case Reshape():
            known = infer(body, node.arg)
            if all(k is not None for k in known):
                position = ravel([k for k in known if k is not None], node.arg.shape)
                found = list(unravel(position, node.shape, body.sizes))
        case Fold():
            known = infer(body, node.arg)
            found = [k for dim, k in enumerate(known) if dim not in node.dims]
    return found


def _through(
    view: View, known: Sequence[Affine | None], sizes: Mapping[str, int]
) -> list[Affine | None]:
    """Return the coordinates of ``view`` that fit those of its argument; None where unknown."""
    found: list[Affine | None] = [ZERO if size == 1 else None for size in view.shape]
    for row, at, size in zip(view.rows, known, view.arg.shape, strict=True):
        dims = _flattened(row, view, size)
        if at is not None and dims:
            parts = unravel(at, [view.shape[dim] for dim in dims], sizes)
            found = [dict(zip(dims, parts, strict=True)).get(d, c) for d, c in enumerate(found)]
    return [
        None if at is not None and extent(at, sizes)[1] >= size else at
        for at, size in zip(found, view.shape, strict=True)
    ]


def _flattened(row: Row, view: View, size: int) -> list[int]:
    """Return the dimensions of ``view`` whose row-major number the row is, outermost first; none if
    it is another function. Several dimensions have as many numbers as the row has places."""
    terms, offset = row
    dims = [dim for dim, _ in sorted(terms, key=lambda term: -term[1])]
    shape = [view.shape[dim] for dim in dims]
    wanted = contiguous("", tuple(shape), "int64").strides
    is_flat = not offset and tuple(dict(terms)[dim] for dim in dims) == wanted
    return dims if is_flat and (len(dims) == 1 or math.prod(shape) == size) else []


def n_elements(sizes: Mapping[str, int], axes: Sequence[Axis]) -> int:
    """Return the number of iterations of a loop nest."""
    return math.prod(sizes[axis.name] for axis in axes)
