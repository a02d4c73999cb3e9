"""Fusion: which values are kept in memory, and which of them one kernel computes together.

Pointwise values are computed where they are used. Kept in memory are the values that calls, outputs
and buffers need, reductions and scans, tables that are gathered from, and values that are too
costly to compute twice. A kept value joins the kernel of a value that it depends on (or that reads
the same tensors) if one loop nest can hold both: the attempt to build that nest is the test.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

import torch

from kernelwright.compiler.fuse.body import DoesNotFit
from kernelwright.compiler.fuse.flow import (
    Constant,
    Fold,
    Gather,
    Laid,
    Node,
    NoNest,
    Point,
    Product,
    Reshape,
    Running,
    Source,
    Stored,
    Stretched,
    View,
    in_memory,
    walk,
)
from kernelwright.compiler.fuse.group import lower_group
from kernelwright.compiler.fuse.layout import layout
from kernelwright.compiler.ir.ir import Contraction, Kernel, Load, Tensor, contiguous

EXPENSIVE = frozenset({"exp", "expm1", "log", "log1p", "log2", "sin", "cos", "tanh", "sigmoid",
                       "erf", "pow", "atan2", "div", "sqrt", "rsqrt", "fmod"})  # fmt: skip
COMPUTED_ONCE = (Fold, Running, Product, Stored)
MAX_SIBLINGS = 4
_NOTHING: Mapping[Node, tuple[int, ...]] = {}


@dataclass(frozen=True)
class Fusion:
    """How eagerly to fuse; the proposer tries several settings."""

    name: str = "fused"
    join_rows: int = 1
    """Least number of rows of a reduction whose kernel a full-size value may join."""
    short_row: int = 0
    """Longest row, in values, for which a value may join however few rows there are: beside them a
    kernel more takes longer than its work."""
    recompute_cost: int = 12
    """Cost (one per operation, eight per EXPENSIVE one) above which a value is kept rather than
    computed in two kernels, or again in each overlapping window."""
    again: int = 0
    """Cost of computing a value in all windows that read it, for each value in memory, up to which
    it is computed again in every one rather than kept. With 0, a quarter of ``recompute_cost`` is
    the limit, however many windows there are."""
    siblings: bool = True
    """Whether values that only share an input may share a kernel."""
    least_attention: int = 2**30
    """Number of products of a query's element and a key's from which attention may be own code:
    below, launching the library's kernel dominates its time."""
    convolutions: bool = True
    """Whether convolutions are own code where matrix products are."""
    few_queries: bool = False
    """Whether attention of few queries is one step: if not, it is taken apart into products."""
    twins: bool = False
    """Whether two products of 16 bits that share an operand, as the gate and the values of a gated
    MLP do, are one step: an emitter's products have to add up both."""
    depthwise: bool = False
    """Whether depthwise convolutions are own code where other convolutions are the library's: they
    are sums over windows, and not products."""
    narrow: bool = False
    """Whether convolutions at which the library is slow with channels last are own code."""
    folded_columns: int = 0
    """Most channels of an own convolution over which its kernel reduces; with 0, other kernels do,
    which read all that it has written."""
    moments: bool = False
    """Whether own convolutions begin the statistics of their channels: an emitter's products have
    to add up their rows."""
    in_tiles: int = 0
    """Most rows of a product's other side for which an operand is computed where the product reads
    it, if it is narrower in memory; with more rows it is kept in memory first. Rows that are
    gathered, and float8, are always read where they are. With 0, all operands are kept."""
    totals: int = 0
    """Longest row, in values, beside which a kernel of rows adds up its columns, as the gradient of
    a norm's weight needs; 0 leaves columns to kernels of their own, which read the rows again."""


@dataclass
class Group:
    """Nodes that one kernel computes, arguments before users."""

    nodes: list[Node] = field(default_factory=list)
    kernel: Kernel | Contraction | None = None
    everything: list[Node] = field(default_factory=list)
    """The nodes and all values that are computed on the way to them."""


def fuse(
    required: Sequence[Node],
    names: Mapping[Node, str],
    after: Mapping[Node, frozenset[Node]],
    fusion: Fusion,
    given: Mapping[Node, tuple[int, ...]] = _NOTHING,
) -> list[Group]:
    """Return the kernels that compute ``required``; nodes in ``given`` are laid out with these
    strides, as the module itself gives them to its caller and to operators, or as their place in a
    concatenation has them.

    ``after`` says, for the result of a call, which nodes the call needs (its kept arguments).
    """
    extra: set[Node] = set()
    plan: _Plan | None = None
    while True:
        plan = _Plan(required, names, after, fusion, extra, given, plan)
        costly = set(plan.run()) or set(plan.computed_twice())
        if not costly:
            plan.join_totals()
            return plan.finished()
        extra |= costly


class _Plan:
    def __init__(
        self,
        required: Sequence[Node],
        names: Mapping[Node, str],
        after: Mapping[Node, frozenset[Node]],
        fusion: Fusion,
        extra: set[Node],
        given: Mapping[Node, tuple[int, ...]],
        earlier: _Plan | None,
    ) -> None:
        """``earlier``: a plan that kept a part of ``extra``; its groups are taken over as far as
        they are the same, which saves most of the work in a large network."""
        self.required = set(required)
        self.after = after
        self.fusion = fusion
        self.order = list(walk(required))
        kept = self.required | extra | set(_normalised(self.order, fusion))
        self.kept = _kept(self.order, kept, names, given, fusion.in_tiles)
        self.groups: list[Group] = []
        self.group_of: dict[Node, Group] = {}
        self.reads = {node: self._reads(node) for node in self.order if node in self.kept}
        self.readers: dict[Node, list[Node]] = {}
        for node, reads in self.reads.items():
            for read in reads:
                self.readers.setdefault(read, []).append(node)
        self.n_assigned = self._take_over(earlier) if earlier else 0
        """Number of the first nodes in ``order`` that have their groups already."""

    def _take_over(self, earlier: _Plan) -> int:
        """Take over the groups of the nodes before the first that is kept or read in another way,
        and return the number of these nodes. A group hangs on nothing that comes later: whoever
        reads a member from outside is outside in both plans."""
        done: set[Node] = set()
        for node in self.order:
            if self.kept.get(node) != earlier.kept.get(node):
                break
            if self.reads.get(node) != earlier.reads.get(node):
                break
            done.add(node)
        for group in earlier.groups:
            if nodes := [node for node in group.nodes if node in done]:
                self.groups.append(Group(nodes))
                self.group_of |= dict.fromkeys(nodes, self.groups[-1])
        return len(done)

    def run(self) -> Iterator[Node]:
        """Assign every kept node to a group; if one cannot be assigned, yield values that must be
        kept first."""
        for node in self.order[self.n_assigned :]:
            if node in self.kept and not isinstance(node, Source) and not self._assign(node):
                yield from self._to_keep(node)
                return

    def join_totals(self) -> None:
        """Let sums over the rows of a kernel be made by it: its own values are there already."""
        for sums in list(self.groups):
            longest = max(node.n_elements for node in sums.nodes)
            if longest > self.fusion.totals or not any(isinstance(n, Fold) for n in sums.nodes):
                continue
            for rows in self.groups:
                if self._adds_up(rows, sums):
                    rows.nodes += sums.nodes
                    self.group_of |= dict.fromkeys(sums.nodes, rows)
                    self.groups.remove(sums)
                    break

    def _adds_up(self, rows: Group, sums: Group) -> bool:
        """Return whether the kernel of ``rows`` can make ``sums`` over its rows as well."""
        folds = [node for node in rows.nodes if isinstance(node, Fold)]
        if rows is sums or not folds or not self._has_rows(folds[0]):
            return False
        by_rows, by_sums = ({r for n in g.nodes for r in self.reads[n]} for g in (rows, sums))
        big = {r for r in by_sums if r.n_elements > folds[0].n_elements}
        if big.isdisjoint(by_rows | set(rows.nodes)) or not by_rows.isdisjoint(sums.nodes):
            return False
        others = [r for r in by_rows | by_sums if self.group_of.get(r) not in (rows, sums)]
        if self._depends(others, rows) or self._depends(others, sums):
            return False
        try:
            kernel = self._lower([*rows.nodes, *sums.nodes], "attempt", totals=True)
        except DoesNotFit:
            return False
        return isinstance(kernel, Kernel) and _reads_rows(kernel)

    def finished(self) -> list[Group]:
        place = {node: number for number, node in enumerate(self.order)}
        for number, group in enumerate(self.groups):
            group.kernel = self._lower(group.nodes, f"kernel_{number}", totals=True)
            inlined = {arg for node in group.nodes for arg in self._inlined(node)}
            group.everything = sorted({*inlined, *group.nodes}, key=place.__getitem__)
        return self.groups

    def computed_twice(self) -> Iterator[Node]:
        """Yield values outside memory that are too costly to be computed as often as they would
        be."""
        users: dict[Node, set[int]] = {}
        for number, group in enumerate(self.groups):
            for node in group.nodes:
                for inlined in self._inlined(node):
                    users.setdefault(inlined, set()).add(number)
                    yield from self._overlapping(inlined)
                yield from self._overlapping(node)
        for node, numbers in users.items():
            if len(numbers) > 1 and isinstance(node, Point) and self._is_costly(node):
                yield node

    def _overlapping(self, node: Node) -> Iterator[Node]:
        """Yield the argument of an overlapping view, if it is computed and not cheap."""
        for view in node.args:
            if isinstance(view, View) and view not in self.kept:
                arg = view.arg
                again = view.n_elements > arg.n_elements and any(len(t) > 1 for t, _ in view.rows)
                is_own = isinstance(arg, Point) and arg not in self.kept
                if again and is_own and self._is_costly_again(arg, view):
                    yield arg

    def _is_costly_again(self, arg: Node, view: View) -> bool:
        """Return whether computing ``arg`` in every window costs more than keeping it. What is the
        same for all windows, as a channel's scale is, is not computed again."""
        if not self.fusion.again:
            return self._cost(arg) > self.fusion.recompute_cost // 4
        points = [n for n in (arg, *self._inlined(arg)) if isinstance(n, Point)]
        cost = _cost_of(n for n in points if n.n_elements == arg.n_elements)
        return cost * view.n_elements > self.fusion.again * arg.n_elements

    def _is_costly(self, node: Node) -> bool:
        big = [s for s in self._reads(node) if s.n_elements * 2 > node.n_elements]
        return len(big) > 1 or self._cost(node) > self.fusion.recompute_cost

    def _cost(self, node: Node) -> int:
        return _cost_of(n for n in (node, *self._inlined(node)) if isinstance(n, Point))

    def _inlined(self, node: Node) -> Iterator[Node]:
        """Yield the nodes that are also computed when ``node`` is computed."""
        seen: set[Node] = set()
        stack = list(node.args)
        while stack:
            arg = stack.pop()
            if arg not in seen and arg not in self.kept:
                seen.add(arg)
                yield arg
                stack.extend(arg.args)

    def _reads(self, node: Node) -> set[Node]:
        """Return the kept nodes that computing ``node`` needs."""
        nodes = [node, *self._inlined(node)]
        return {arg for n in nodes for arg in n.args if arg in self.kept}

    def _to_keep(self, node: Node) -> list[Node]:
        """Return what must be in memory before a kernel of ``node`` alone can be built: a computed
        value, or one whose order of elements no view has. A product's operand in the space of all
        its products is never among them, because it is repeated for every row or column of the
        other operand.

        Raises:
            NoNest: all of it is in memory already.
        """
        spread = node.args if isinstance(node, Product) else ()
        inlined = [
            arg
            for arg in self._inlined(node)
            if not isinstance(arg, Constant) and arg not in spread
        ]
        if not inlined:
            raise NoNest(node)
        kinds = (Point, Reshape, Node)
        return [next(arg for kind in kinds for arg in inlined if isinstance(arg, kind))]

    def _assign(self, node: Node) -> bool:
        """Return whether a kernel can compute ``node``."""
        reads = self.reads[node]
        for group in self._candidates(node, reads):
            if self._may_join(node, reads, group):
                try:
                    self._lower([*group.nodes, node], "attempt")
                except DoesNotFit:
                    continue
                group.nodes.append(node)
                self.group_of[node] = group
                return True
        try:
            self._lower([node], "attempt")
        except DoesNotFit:
            return False
        self.group_of[node] = Group([node])
        self.groups.append(self.group_of[node])
        return True

    def _candidates(self, node: Node, reads: set[Node]) -> list[Group]:
        direct = {id(self.group_of[r]) for r in reads if r in self.group_of}
        found = [group for group in reversed(self.groups) if id(group) in direct]
        if self.fusion.siblings:
            big = {r for r in reads if r.n_elements > 1}
            shared = [
                group
                for group in reversed(self.groups)
                if id(group) not in direct and any(self.reads[n] & big for n in group.nodes)
            ]
            found += shared[:MAX_SIBLINGS]
        return found

    def _may_join(self, node: Node, reads: set[Node], group: Group) -> bool:
        """Return whether nothing outside the group stands between it and the node, and the kernel
        keeps enough rows to run in parallel."""
        products = [n for n in (*group.nodes, node) if isinstance(n, Product)]
        if len(products) > 1 and not self.fusion.twins:
            return False
        if self._depends([r for r in reads if self.group_of.get(r) is not group], group):
            return False
        folds = [n for n in group.nodes if isinstance(n, Fold)]
        if not folds and isinstance(node, Fold):
            return self._has_rows(node)
        is_full = bool(folds) and node.n_elements > folds[0].n_elements
        return not is_full or self._has_rows(folds[0])

    def _has_rows(self, fold: Fold) -> bool:
        is_short = fold.arg.n_elements <= self.fusion.short_row * fold.n_elements
        return is_short or fold.n_elements >= self.fusion.join_rows

    def _depends(self, nodes: Iterable[Node], group: Group) -> bool:
        """Return whether computing one of the ``nodes`` (kept) waits for ``group``."""
        seen: set[Node] = set()
        groups_seen: set[int] = set()
        stack = list(nodes)
        while stack:
            current = stack.pop()
            if current in seen:
                continue
            seen.add(current)
            own = self.group_of.get(current)
            if own is group:
                return True
            stack.extend(self.after.get(current, ()))
            if own is not None and id(own) not in groups_seen:
                groups_seen.add(id(own))
                for member in own.nodes:
                    stack.extend(self.reads[member])
        return False

    def _lower(
        self, nodes: Sequence[Node], name: str, *, totals: bool = False
    ) -> Kernel | Contraction:
        members = set(nodes)
        stored = [
            node
            for node in nodes
            if node in self.required or not members.issuperset(self.readers.get(node, ()))
        ]
        columns = self.fusion.folded_columns
        stored = stored or [*nodes[-1:]]
        return lower_group(name, nodes, stored, self.kept, totals=totals, columns=columns)


def _reads_rows(kernel: Kernel) -> bool:
    """Return whether neighbours of a row are neighbours in memory, wherever a kernel reads rows."""
    outer, last = {axis.name for axis in kernel.outer}, kernel.inner[-1].name
    deep = [
        op.index
        for op in kernel.body
        if isinstance(op, Load) and op.index.axes & outer and op.index.coefficient(last)
    ]
    return bool(deep) and all(index.coefficient(last) == 1 for index in deep)


def _base(node: Node) -> Node:
    """Return the node that a view is a view of."""
    while isinstance(node, (View, Reshape, Stretched)):
        node = node.arg
    return node


def _is_in_tiles(product: Product, operand: Node, held: Set[Node], most_rows: int) -> bool:
    """Return whether a product computes this operand where it reads it: rows that are gathered, or
    numbers that are narrower in memory if few rows of the other side read them. What a reduction
    leaves is kept by its kernel, and costly operators are not done again for every tile."""
    is_one_of_many = product.ends is not None and operand is not product.a
    if not most_rows or is_one_of_many or isinstance(operand, Stretched):
        return False
    under, leaves = _down_to([_base(operand)], held)
    others = product.n if operand is product.a else product.m
    is_cheap = all(not isinstance(n, Point) or n.op not in EXPENSIVE for n in under)
    if not under or not is_cheap or any(isinstance(leaf, (Fold, Running)) for leaf in leaves):
        return False
    is_float8 = all(leaf.dtype.startswith("float8") for leaf in leaves)
    if any(isinstance(node, Gather) for node in under) or is_float8:
        return True
    n_rows = math.prod(product.shape[d] for d in others)
    n_bytes = sum(_bytes(leaf) for leaf in set(leaves))
    return n_rows <= most_rows and n_bytes < _bytes(_base(operand))


def _down_to(roots: Sequence[Node], held: Set[Node]) -> tuple[list[Node], list[Node]]:
    """Return the values under ``roots`` that are not held in memory, and those that are, but for
    the positions of what is gathered."""
    under: list[Node] = []
    leaves: list[Node] = []
    stack = list(roots)
    while stack:
        node = stack.pop()
        if node in held:
            leaves.append(node)
            continue
        under.append(node)
        if isinstance(node, Gather):
            under += _down_to(node.args[1:], held)[0]
            stack.append(node.table)
        else:
            stack += node.args
    return under, leaves


def _normalised(order: Sequence[Node], fusion: Fusion) -> Iterator[Node]:
    """Yield values computed from a product that a norm reads in several passes: its kernel stores
    them, and may begin the norm's statistics. Cheap ones are computed again in every pass if it
    does not."""
    for node in order:
        if not isinstance(node, Fold) or not isinstance(node.arg, Point) or node.arg.op != "sub":
            continue
        value = node.arg.operands[0]
        under = _pointwise(value)
        points = [n for n in under if isinstance(n, Point)]
        is_product = any(isinstance(n, Product) and n.n_elements == value.n_elements for n in under)
        is_worth = fusion.moments or _cost_of(points) > fusion.recompute_cost
        if isinstance(value, Point) and is_product and is_worth:
            yield value


def _pointwise(root: Node) -> list[Node]:
    """Return the values that ``root`` is computed from, itself included, down to those that are
    computed once."""
    under: list[Node] = []
    stack = [root]
    while stack:
        node = stack.pop()
        if node not in under:
            under.append(node)
            stack += () if isinstance(node, COMPUTED_ONCE) else node.args
    return under


def _cost_of(points: Iterable[Point]) -> int:
    return sum(8 if n.op in EXPENSIVE else 1 for n in points)


def _bytes(node: Node) -> int:
    return node.n_elements * getattr(torch, node.dtype).itemsize


def _kept(
    order: Sequence[Node],
    required: set[Node],
    names: Mapping[Node, str],
    given: Mapping[Node, tuple[int, ...]],
    in_tiles: int,
) -> dict[Node, Tensor]:
    tables = {in_memory(node.table) for node in order if isinstance(node, Gather)}
    held = {node for node in order if isinstance(node, (Source, *COMPUTED_ONCE))}
    held |= required | tables
    for node in order:
        if isinstance(node, Product):
            tables |= {_base(x) for x in node.args if not _is_in_tiles(node, x, held, in_tiles)}
            if isinstance(node.a, Stretched):  # read at positions that no other view has
                tables.add(node.a.arg)
    kept: dict[Node, Tensor] = {}
    for node in order:
        if isinstance(node, Source):
            kept[node] = node.tensor
        elif node in required or node in tables or isinstance(node, COMPUTED_ONCE):
            name = names.get(node, f"{type(node).__name__}_{len(kept)}")
            tensor = contiguous(name, node.shape, node.dtype)
            strides = node.strides if isinstance(node, Laid) else layout(node, kept)
            strides = given.get(node, strides)
            kept[node] = replace(tensor, strides=strides) if strides else tensor
    return kept


__all__ = ["Constant", "Fusion", "Group", "fuse"]
