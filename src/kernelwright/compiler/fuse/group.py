"""One kernel from a group of nodes: choosing its axes, placing every member, storing results."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from kernelwright.compiler.fuse.body import BodyBuilder, Coordinates, DoesNotFit, infer
from kernelwright.compiler.fuse.flow import (
    Fold,
    Node,
    Product,
    Running,
    Stretched,
    View,
    fixed,
)
from kernelwright.compiler.ir.indexing import (
    NeedsSplit,
    NotAffine,
    is_permutation,
    plus,
    ravel,
    times,
)
from kernelwright.compiler.ir.ir import (
    NARROW,
    Affine,
    Axis,
    Compute,
    Contraction,
    Groups,
    Kernel,
    Load,
    Op,
    Stretch,
    Tensor,
)
from kernelwright.compiler.ir.tidy import tidy

MAX_SPLITS = 12


def lower_group(
    name: str,
    nodes: Sequence[Node],
    stored: Sequence[Node],
    kept: Mapping[Node, Tensor],
    *,
    totals: bool = False,
    columns: int = 0,
) -> Kernel | Contraction:
    """Return the kernel that computes ``nodes`` (arguments before users) and stores those in
    ``stored``.

    It is a Contraction if one of the nodes is a Product. With ``totals``, sums over all of its rows
    may be among the nodes; reductions over a convolution's channels, if it has at most ``columns``.

    Raises:
        DoesNotFit: the nodes cannot share one loop nest.
    """
    splits: dict[str, int] = {}
    for _ in range(MAX_SPLITS):
        try:
            if any(isinstance(node, Product) for node in nodes):
                return tidy(_product_nest(name, nodes, stored, kept, splits, columns))
            return tidy(_Nest(nodes, kept, splits, totals=totals).kernel(name, stored))
        except NeedsSplit as need:
            if need.axis in splits:
                raise DoesNotFit(f"axis {need.axis} would be split twice") from need
            splits[need.axis] = need.inner
        except NotAffine as error:
            raise DoesNotFit(str(error)) from error
    raise DoesNotFit("too many splits")


def _product_nest(
    name: str,
    nodes: Sequence[Node],
    stored: Sequence[Node],
    kept: Mapping[Node, Tensor],
    splits: Mapping[str, int],
    columns: int,
) -> Contraction:
    """Return a product with the pointwise values that follow it and reductions over its columns, or
    two products that share an operand."""
    (anchor, *twins) = (node for node in nodes if isinstance(node, Product))
    folds = [node for node in nodes if isinstance(node, Fold)]
    if len(twins) > 1 or any(isinstance(node, Running) for node in nodes):
        raise DoesNotFit("a third product or a scan beside a product")
    if folds and (twins or not _may_fold(anchor, folds, columns)):
        raise DoesNotFit("a reduction beside a product")
    nest = _Nest(nodes, kept, splits)
    body = nest.body
    sides: dict[str, list[Axis]] = {"batch": [], "m": [], "n": [], "k": []}
    coordinates: list[Affine] = []
    for dim, size in enumerate((*anchor.shape, *anchor.folded)):
        side = next((g for g in ("batch", "m", "n") if dim in getattr(anchor, g)), "k")
        value, axes = body.axis(f"{side}{dim}", size)
        coordinates.append(value)
        sides[side].extend(axes)
    at = tuple(coordinates)
    b, b_made, b_dtype = _operand(nest, anchor.b, at)
    groups = _groups(nest, anchor, at)
    stretches: tuple[Stretch, ...] = ()
    if isinstance(anchor.a, Stretched):
        a, stretches = _stretched(nest, anchor.a, at)
        a_made, a_dtype = (), ""
    else:
        a, a_made, a_dtype = _operand(nest, anchor.a, at)
    twin = _twin(nest, anchor, twins[0], at) if twins else None
    body.define(anchor, at[: len(anchor.shape)], "acc")
    for other in twins:
        body.define(other, at[: len(other.shape)], "acc_twin")
    nest.outer = [*sides["batch"], *sides["m"]]
    (nest.inner if folds else nest.outer).extend(sides["n"])
    for node in nodes:
        if node is not anchor and node not in twins:
            nest.place(node)
    for node in stored:
        body.store(node, body.home[node])
    axes = {side: tuple(members) for side, members in sides.items()}
    return Contraction(
        name, **axes, a=a, b=b, body=tuple(body.ops), stretches=stretches, tf32=anchor.tf32,
        a_made=a_made, b_made=b_made, dtypes=(a_dtype, b_dtype), groups=groups, twin=twin,
    )  # fmt: skip


def _twin(nest: _Nest, anchor: Product, other: Product, at: Coordinates) -> Load:
    """Return the load of the operand by which ``other`` multiplies what ``anchor`` multiplies."""
    both = (anchor, other)
    forms = {(p.shape, p.folded, p.batch, p.m, p.n, p.dtype) for p in both}
    if len(forms) > 1 or any(p.ends or isinstance(p.a, Stretched) for p in both):
        raise DoesNotFit("two products of different forms")
    loads = [_operand(nest, operand, at) for p in both for operand in (p.a, p.b)]
    if any(load.bounds or made for load, made, _ in loads):
        raise DoesNotFit("two products of operands that are not in memory")
    (first, b, second, twin) = (load for load, _, _ in loads)
    if replace(first, name="") != replace(second, name="") or first.tensor.dtype not in NARROW:
        raise DoesNotFit("two products that share no operand of 16 bits")
    if b.tensor.dtype != twin.tensor.dtype:
        raise DoesNotFit("two products of different types")
    return twin


def _may_fold(anchor: Product, folds: Sequence[Fold], columns: int) -> bool:
    """Return whether a tile of a convolution holds all channels that are reduced."""
    n_columns = math.prod(anchor.shape[dim] for dim in anchor.n)
    is_plain = not any(fold.op.startswith("arg") for fold in folds)
    return anchor.tf32 and is_plain and 1 < n_columns <= columns


def _operand(nest: _Nest, node: Node, at: Coordinates) -> tuple[Load, tuple[Op, ...], str]:
    """Return the load that ``node`` is, whose bounds are the padding of a convolution. If the node
    is computed, return its largest load, the ops that compute it, and its type."""
    scratch = BodyBuilder(nest.body.kept, (), nest.body.splits)
    scratch.sizes = nest.body.sizes
    value = scratch.value(node, at)
    match scratch.ops:
        case [Load() as load] | [Load() as load, Compute(op="cast")] if not load.gather:
            if load.tensor.dtype == node.dtype or _is_exact(load.tensor.dtype, node.dtype):
                return load, (), ""
    loads = [op for op in scratch.ops if isinstance(op, Load)]
    last = scratch.ops[-1] if scratch.ops else None
    if not loads or not isinstance(last, (Load, Compute)) or last.name != value:
        raise DoesNotFit("an operand of a product that is not computed from memory")
    largest = max(loads, key=lambda op: len(op.index.axes))
    return largest, tuple(scratch.ops), node.dtype


def _is_exact(dtype: str, wider: str) -> bool:
    """Return whether a product may read numbers of a narrow type in place of the same in another:
    tensor cores multiply both."""
    return dtype.startswith("float8") and wider in ("float32", "bfloat16", "float16")


def _groups(nest: _Nest, product: Product, at: Coordinates) -> Groups | None:
    """Return where the groups of rows end, and how far apart their matrices are in memory."""
    if product.ends is None:
        return None
    ends = nest.body.kept.get(product.ends)
    if ends is None or not isinstance(product.b, View) or ends.strides != (1,):
        raise DoesNotFit("ends of groups that are not in memory")
    first, second = (
        _operand(nest, replace(product.b, rows=(fixed(n), *product.b.rows[1:])), at)[0].index
        for n in (0, 1)
    )
    return Groups(ends, second.offset - first.offset)


def _stretched(nest: _Nest, node: Stretched, at: Coordinates) -> tuple[Load, tuple[Stretch, ...]]:
    """Return the load of a transposed convolution, and how it reads along every spatial
    dimension."""
    tensor = nest.body.kept.get(node.arg)
    if tensor is None:
        raise DoesNotFit("an operand of a product that is not in memory")
    spatial = len(node.stride)
    out, taps = at[3 : 3 + spatial], at[4 + spatial :]
    if any(len(c.terms) != 1 or c.terms[0][1] != 1 or c.offset for c in (*out, *taps)):
        raise DoesNotFit("a dimension of a transposed convolution that is split, or of size one")
    channel = plus(times(at[1], node.shape[3 + spatial]), at[3 + spatial])
    places = (at[0], channel, *out)
    steps = (times(c, s) for c, s in zip(places, tensor.strides, strict=True))
    stretches = tuple(
        Stretch(o.terms[0][0], k.terms[0][0], *numbers)
        for o, k, *numbers in zip(
            out, taps, tensor.shape[2:], node.stride, node.padding, node.dilation, strict=True
        )
    )
    return Load("a", tensor, plus(*steps)), stretches


class _Nest:
    def __init__(
        self,
        nodes: Sequence[Node],
        kept: Mapping[Node, Tensor],
        splits: Mapping[str, int],
        *,
        totals: bool = False,
    ) -> None:
        self.totals = totals
        self.body = BodyBuilder(kept, nodes, splits)
        self.nodes = nodes
        self.outer: list[Axis] = []
        self.inner: list[Axis] = []

    def kernel(self, name: str, stored: Sequence[Node]) -> Kernel:
        folds = [node for node in self.nodes if isinstance(node, (Fold, Running))]
        anchor = (folds or list(self.nodes))[0]
        self._place_anchor(anchor)
        for node in self.nodes:
            if node is not anchor and node not in self.body.home:
                self.place(node)
        for node in stored:
            self.body.store(node, self.body.home[node])
        self.body.require_finished()
        return Kernel(name, tuple(self.outer), tuple(self.inner), tuple(self.body.ops))

    def _place_anchor(self, anchor: Node) -> None:
        space = anchor.arg.shape if isinstance(anchor, Fold) else anchor.shape
        inner_dims: tuple[int, ...] = ()
        if isinstance(anchor, Fold):
            inner_dims = anchor.dims
        elif isinstance(anchor, Running):
            inner_dims = (anchor.dim,)
        coordinates: list[Affine] = []
        for dim, size in enumerate(space):
            value, axes = self.body.axis(f"{'r' if dim in inner_dims else 'i'}{dim}", size)
            coordinates.append(value)
            (self.inner if dim in inner_dims else self.outer).extend(axes)
        if isinstance(anchor, Running) and len(self.inner) != 1:
            raise DoesNotFit("a scan along an axis that had to be split")
        at = tuple(coordinates)
        if isinstance(anchor, Fold):
            self._define_fold(anchor, at)
        elif isinstance(anchor, Running):
            self.body.define(anchor, at, self.body.scan(anchor, at))
        else:
            self.body.define(anchor, at, self.body.value(anchor, at))

    def place(self, node: Node) -> None:
        if isinstance(node, Running):
            raise DoesNotFit("a second scan")
        at = self._known(node.arg if isinstance(node, Fold) else node)
        if isinstance(node, Fold) and self._is_total(node, at):
            self.body.seen.setdefault(node.arg, at)
            kept = tuple(c for d, c in enumerate(at) if d not in node.dims)
            self.body.define(node, kept, self.body.total(node, at))
        elif isinstance(node, Fold):
            self._check_fold(node, at)
            self._define_fold(node, at)
        else:
            self._check_cover(node, at)
            self.body.define(node, at, self.body.value(node, at))

    def _known(self, node: Node) -> Coordinates:
        coordinates = infer(self.body, node)
        if any(c is None for c in coordinates):
            raise DoesNotFit(f"{type(node).__name__} has no coordinates in this loop nest")
        return tuple(c for c in coordinates if c is not None)

    def _define_fold(self, node: Fold, at: Coordinates) -> None:
        name = self.body.reduce(node, at)
        self.body.seen.setdefault(node.arg, at)
        self.body.define(node, tuple(c for d, c in enumerate(at) if d not in node.dims), name)

    def _check_fold(self, node: Fold, at: Coordinates) -> None:
        """Check that the folded dimensions are exactly the inner axes, and the others the outer
        ones."""
        folded, kept = _folded_and_kept(node, at)
        inner, outer = ({a.name for a in axes} for axes in (self.inner, self.outer))
        if folded.axes != inner or kept.axes != outer:
            raise DoesNotFit(f"{type(node).__name__} reduces over other axes")
        if not is_permutation(folded, self.body.sizes, _n_folded(node)):
            raise DoesNotFit(f"{type(node).__name__} reduces over more or other elements")
        if node.op.startswith("arg") and folded != self._row_major_inner():
            raise DoesNotFit(f"{type(node).__name__} counts positions in another order")
        self._check_permutation(kept, node)

    def _is_total(self, node: Fold, at: Coordinates) -> bool:
        """Return whether ``node`` is the sum over exactly the outer axes of a nest of rows, for
        every point of the inner ones."""
        folded, kept = _folded_and_kept(node, at)
        inner, outer = ({a.name for a in axes} for axes in (self.inner, self.outer))
        return (
            self.totals
            and node.op == "sum"
            and node.dtype.startswith(("float", "bfloat"))
            and (folded.axes, kept.axes) == (outer, inner)
            and not any(isinstance(other, Running) for other in self.nodes)
            and is_permutation(folded, self.body.sizes, _n_folded(node))
            and is_permutation(kept, self.body.sizes, node.n_elements)
        )

    def _row_major_inner(self) -> Affine:
        return ravel([Affine(((a.name, 1),)) for a in self.inner], [a.size for a in self.inner])

    def _check_cover(self, node: Node, at: Coordinates) -> None:
        """Check that every element is computed once: the axes used are all those of a scope, in a
        bijection."""
        position = ravel(at, node.shape)
        inner, outer = ({axis.name for axis in axes} for axes in (self.inner, self.outer))
        covers = [outer, outer | inner]
        if self.body.is_total(node):
            covers.append(inner)
        if position.axes not in covers:
            raise DoesNotFit(f"{type(node).__name__} does not use every axis")
        self._check_permutation(position, node)

    def _check_permutation(self, position: Affine, node: Node) -> None:
        if not is_permutation(position, self.body.sizes, node.n_elements):
            raise DoesNotFit(f"{type(node).__name__} is not computed once per element")


def _folded_and_kept(node: Fold, at: Coordinates) -> tuple[Affine, Affine]:
    """Return the row-major numbers of the coordinates that are folded, and of the others."""
    dims = [d in node.dims for d in range(len(at))]
    folded, kept = (
        ravel(
            [c for c, is_in in zip(at, dims, strict=True) if is_in == wanted],
            [n for n, is_in in zip(node.arg.shape, dims, strict=True) if is_in == wanted],
        )
        for wanted in (True, False)
    )
    return folded, kept


def _n_folded(node: Fold) -> int:
    return math.prod(node.arg.shape[d] for d in node.dims)
