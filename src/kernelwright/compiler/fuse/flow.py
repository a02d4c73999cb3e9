"""The dataflow between capture and fusion: elementary nodes, each with one value per coordinate.

Every ATen operator that our own code can compute becomes a few of these nodes. Fusion decides which
nodes are kept in memory; ``body.py`` turns the rest into loop bodies by requesting values at
coordinates. Nodes are compared by identity.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kernelwright.compiler.ir.ir import Tensor, contiguous

Shape = tuple[int, ...]


class Unsupported(Exception):
    """The operator, or this use of it, is left to PyTorch."""


class NoNest(Unsupported):
    """No loop nest computes this node."""

    def __init__(self, node: Node) -> None:
        super().__init__(f"no loop nest computes {type(node).__name__} of {node.shape}")
        self.node = node


@dataclass(frozen=True, eq=False)
class Node:
    """A value per coordinate of ``shape``."""

    shape: Shape
    dtype: str

    @property
    def args(self) -> tuple[Node, ...]:
        return ()

    @property
    def n_elements(self) -> int:
        return math.prod(self.shape)


@dataclass(frozen=True, eq=False)
class Source(Node):
    """A tensor in memory: an input, an attribute, or the output of a call."""

    tensor: Tensor


@dataclass(frozen=True, eq=False)
class Constant(Node):
    """The same number everywhere."""

    value: float | int | bool


@dataclass(frozen=True, eq=False)
class Position(Node):
    """The coordinate along ``dim``, as an integer."""

    dim: int


@dataclass(frozen=True, eq=False)
class Point(Node):
    """An operator of ir.POINTWISE; every operand has the node's shape."""

    op: str
    operands: tuple[Node, ...]

    @property
    def args(self) -> tuple[Node, ...]:
        return self.operands


Row = tuple[tuple[tuple[int, int], ...], int]
"""An affine function of the coordinates: ((dimension, coefficient), ...) and an offset."""


@dataclass(frozen=True, eq=False)
class View(Node):
    """``arg`` at an affine function of the coordinates: permute, expand, slice, pad, unfold, flip.

    ``rows`` has one function per dimension of ``arg``. In the dimensions ``checked`` it may point
    outside ``arg``; the value is ``fill`` there.
    """

    arg: Node
    rows: tuple[Row, ...]
    checked: tuple[int, ...] = ()
    fill: float | int | bool = 0.0

    @property
    def args(self) -> tuple[Node, ...]:
        return (self.arg,)


@dataclass(frozen=True, eq=False)
class Reshape(Node):
    """``arg``'s values in row-major order in another shape."""

    arg: Node

    @property
    def args(self) -> tuple[Node, ...]:
        return (self.arg,)


@dataclass(frozen=True, eq=False)
class Laid(Node):
    """``arg``, stored with these strides wherever it is kept in memory."""

    arg: Node
    strides: tuple[int, ...]

    @property
    def args(self) -> tuple[Node, ...]:
        return (self.arg,)


@dataclass(frozen=True, eq=False)
class Stored(Laid):
    """``arg``, kept in memory: many read each value, and computing it again costs more."""


@dataclass(frozen=True, eq=False)
class Fold(Node):
    """A reduction with ``op`` of ir.REDUCTIONS over ``dims`` of ``arg``, which are removed."""

    op: str
    arg: Node
    dims: tuple[int, ...]

    @property
    def args(self) -> tuple[Node, ...]:
        return (self.arg,)


@dataclass(frozen=True, eq=False)
class Running(Node):
    """A scan with ``op`` of ir.SCANS along ``dim`` of ``arg``; ``factor`` has its shape."""

    op: str
    arg: Node
    dim: int
    reverse: bool = False
    factor: Node | None = None

    @property
    def args(self) -> tuple[Node, ...]:
        return (self.arg,) if self.factor is None else (self.arg, self.factor)


@dataclass(frozen=True, eq=False)
class Gather(Node):
    """``table`` at coordinates some of which are values: embedding, the target of a loss.

    ``rows`` has, per dimension of ``table``, an affine function, or a node of this node's shape
    that holds the index.
    """

    table: Node
    rows: tuple[Row | Node, ...]

    @property
    def args(self) -> tuple[Node, ...]:
        return (self.table, *(row for row in self.rows if isinstance(row, Node)))


@dataclass(frozen=True, eq=False)
class Stretched(Node):
    """The operand of a transposed convolution: ``arg`` (image, channel, *in) in the space (image,
    group, any, *out, channel of the group, *tap), at positions ``(out + padding - dilation * tap) /
    stride``.

    The value is zero where a position is not an integer or is outside ``arg``.
    """

    arg: Node
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]

    @property
    def args(self) -> tuple[Node, ...]:
        return (self.arg,)


@dataclass(frozen=True, eq=False)
class Product(Node):
    """A matrix product or convolution, ``sum over the folded dimensions of a * b``.

    ``a`` and ``b`` are views in one common space: the node's shape followed by ``folded``. The
    dimensions of the shape are split into ``batch`` (both depend on them), ``m`` (only ``a``) and
    ``n`` (only ``b``).
    """

    a: Node
    b: Node
    folded: Shape
    batch: tuple[int, ...]
    m: tuple[int, ...]
    n: tuple[int, ...]
    tf32: bool = False
    """See ``ir.Contraction.tf32``."""
    ends: Node | None = None
    """Where the groups of rows end, if each has a matrix ``b`` of its own: ``b`` is then a view of
    all of them, at the first."""

    @property
    def args(self) -> tuple[Node, ...]:
        return (self.a, self.b) if self.ends is None else (self.a, self.b, self.ends)


def row(dim: int, coefficient: int = 1, offset: int = 0) -> Row:
    """Return ``coefficient * coordinate[dim] + offset``."""
    return (((dim, coefficient),), offset)


def fixed(offset: int) -> Row:
    """Return the row that is ``offset`` at all coordinates."""
    return ((), offset)


def permute(arg: Node, order: Sequence[int]) -> Node:
    """Return ``arg`` with dimension ``order[i]`` of it as dimension ``i`` of the result."""
    shape = tuple(arg.shape[d] for d in order)
    rows = tuple(row(list(order).index(d)) for d in range(len(order)))
    return View(shape, arg.dtype, arg, rows)


def broadcast(arg: Node, shape: Shape) -> Node:
    """Return ``arg`` expanded to ``shape`` by the rules of broadcasting; ``arg`` itself if nothing
    changes."""
    if arg.shape == shape:
        return arg
    if isinstance(arg, Constant):
        return Constant(shape, arg.dtype, arg.value)
    lead = len(shape) - len(arg.shape)
    rows = tuple(fixed(0) if size == 1 else row(lead + dim) for dim, size in enumerate(arg.shape))
    return View(shape, arg.dtype, arg, rows)


def first_of(arg: Node, dims: Sequence[int]) -> Node:
    """Return ``arg`` at the first position along ``dims``, which keep a size of one."""
    shape = tuple(1 if d in dims else size for d, size in enumerate(arg.shape))
    rows = tuple(fixed(0) if d in dims else row(d) for d in range(len(shape)))
    return View(shape, arg.dtype, arg, rows)


def keep_dims(arg: Node, dims: Sequence[int]) -> Node:
    """Return ``arg`` with dimensions of size one inserted, so that the result has them at
    ``dims``."""
    rank = len(arg.shape) + len(dims)
    kept = [d for d in range(rank) if d not in dims]
    sizes = dict(zip(kept, arg.shape, strict=True))
    shape = tuple(sizes.get(d, 1) for d in range(rank))
    return View(shape, arg.dtype, arg, tuple(row(d) for d in kept))


def reshape(arg: Node, shape: Shape) -> Node:
    """Return ``arg`` in another shape; a View if no dimensions longer than one are joined."""
    if arg.shape == shape:
        return arg
    if isinstance(arg, Constant):
        return broadcast(arg, shape)
    wide = [d for d, size in enumerate(shape) if size != 1]
    if tuple(shape[d] for d in wide) == tuple(size for size in arg.shape if size != 1):
        left = iter(wide)
        rows = tuple(fixed(0) if size == 1 else row(next(left)) for size in arg.shape)
        return View(shape, arg.dtype, arg, rows)
    rows = _split(arg.shape, shape)
    return Reshape(shape, arg.dtype, arg) if rows is None else View(shape, arg.dtype, arg, rows)


def in_memory(table: Node) -> Node:
    """What a gather from ``table`` reads: a row-major tensor is the same in another shape."""
    base = table
    while isinstance(base, Reshape):
        base = base.arg
    is_plain = isinstance(base, Source) and base.tensor == row_major(base.tensor)
    return base if is_plain else table


def row_major(tensor: Tensor) -> Tensor:
    return contiguous(tensor.name, tensor.shape, tensor.dtype)


def _split(shape: Shape, into: Shape) -> tuple[Row, ...] | None:
    """Return each dimension of ``shape`` as a function of those of ``into`` that it is split into,
    as a row of heads is; None if one of ``into`` is made of several."""
    rows, dim = [], 0
    for size in shape:
        first, n = dim, 1
        while n < size and dim < len(into):
            n *= into[dim]
            dim += 1
        if n != size:
            return None
        terms = [(d, math.prod(into[d + 1 : dim])) for d in range(first, dim) if into[d] != 1]
        rows.append((tuple(terms), 0))
    return tuple(rows) if math.prod(into[dim:]) == 1 else None


def fold(op: str, arg: Node, dims: Sequence[int], *, keepdim: bool = False) -> Node:
    """Return a reduction over ``dims`` in the dtype that torch gives it."""
    dims = tuple(sorted(d % max(len(arg.shape), 1) for d in dims))
    shape = tuple(size for d, size in enumerate(arg.shape) if d not in dims)
    dtype = arg.dtype
    if op in ("argmax", "argmin"):
        dtype = "int64"
    elif op in ("any", "all"):
        dtype = "bool"
    if all(arg.shape[d] == 1 for d in dims) and dtype == arg.dtype:
        return arg if keepdim else reshape(arg, shape)
    result: Node = Fold(shape, dtype, op, arg, dims)
    return keep_dims(result, dims) if keepdim else result


def walk(roots: Sequence[Node]) -> Iterator[Node]:
    """Yield every node under ``roots`` once, arguments before users."""
    seen: set[Node] = set()
    stack = [(root, False) for root in reversed(roots)]
    while stack:
        node, expanded = stack.pop()
        if expanded:
            yield node
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            stack.extend((arg, False) for arg in reversed(node.args) if arg not in seen)
