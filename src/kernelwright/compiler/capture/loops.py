"""Loops over time that a trace unrolled, as scans of all steps at once.

A module that loops over its input's steps traces as that many copies of the same few operators, and
stacks what each of them gives. If the state only decays and grows, ``state = kept[t] * state +
added[t]``, it is one scan over time, and everything else that the steps compute is computed for all
of them at once: the kept and the added part before it, and what is read from the states after it.
So are the recurrences of Mamba, of gated linear units and of linear attention.
"""

from __future__ import annotations

import operator
from collections.abc import Hashable, Sequence
from typing import Any

import torch
from torch import fx
from torch.utils._pytree import tree_map

aten = torch.ops.aten
LEAST_STEPS = 8
"""A shorter loop is left unrolled: the compiler sees all of it at once."""
_LIBRARY = torch.library.Library("kernelwright_whole", "FRAGMENT")
_LIBRARY.define("decaying_sum(Tensor kept, Tensor added) -> Tensor")
torch.library.register_fake(
    "kernelwright_whole::decaying_sum", lambda kept, added: torch.empty_like(added), lib=_LIBRARY
)
_ZEROS = {aten.zeros.default: (), aten.zeros_like.default: (), aten.full.default: (1,),
          aten.full_like.default: (1,), aten.new_zeros.default: ()}  # fmt: skip
"""Operators that make a tensor of zeros, and the place of the argument that must be zero."""
_DIMENSIONS = {aten.unsqueeze.default, aten.slice.Tensor, aten.select.int, aten.squeeze.dim,
               aten.transpose.int, aten.sum.dim_IntList, aten.mean.dim,
               aten.amax.default, aten.permute.default}  # fmt: skip
"""Operators whose second argument, or for transpose second and third, are dimensions."""
_SHAPED = {aten.view.default, aten.reshape.default, aten._unsafe_view.default, aten.expand.default}
"""Operators whose second argument is a shape."""


def roll_loops(graph: fx.Graph) -> None:
    """Replace every unrolled loop of this kind by one scan over time."""
    numbers, states = _numbered(graph), []
    for node in list(graph.nodes):
        if node.target in (aten.stack.default, aten.cat.default):
            steps, dim = node.args[0], (*node.args, 0)[1] % node.meta["val"].dim()
            joins = node.target is aten.stack.default or all(
                step.meta["val"].shape[dim] == 1 for step in steps
            )
            if len(steps) >= LEAST_STEPS and joins:
                with graph.inserting_before(node):
                    states += _rolled(_Loop(graph, steps, numbers), node, dim)
    _drop_unused(graph)
    for last, whole in states:  # a module may return its last state, too
        _replace_last(graph, last, whole)
    _drop_unused(graph)


def _drop_unused(graph: fx.Graph) -> None:
    graph.eliminate_dead_code(is_impure_node=lambda n: n.op in ("placeholder", "output"))


def _replace_last(graph: fx.Graph, last: fx.Node, whole: fx.Node) -> None:
    """Let what still reads the last state of an unrolled loop read that of the scan."""
    if not last.users or not whole.users:
        return
    with graph.inserting_after(whole):
        final = graph.call_function(aten.select.int, (whole, 0, -1))
    final.meta["val"] = last.meta["val"]
    order = {node: place for place, node in enumerate(graph.nodes)}
    for user in list(last.users):
        if order[user] > order[final]:
            user.replace_input_with(last, final)


def _rolled(loop: _Loop, stack: fx.Node, dim: int) -> list[tuple[fx.Node, fx.Node]]:
    """Replace the stack of a loop's results; return the last state of each of its scans, and all
    states."""
    try:
        whole = loop.at_once(loop.steps)
    except _NoLoop:
        return []
    if not loop.states:
        return []
    if stack.target is aten.cat.default:
        whole = loop.add(aten.squeeze.dim, whole, dim + 1)
    order = [*range(1, dim + 1), 0, *range(dim + 1, whole.meta["val"].dim())]
    stack.replace_all_uses_with(loop.add(aten.permute.default, whole, order))
    return loop.states


def _numbered(graph: fx.Graph) -> dict[fx.Node, int]:
    """Return a number for each node; nodes that compute the same have the same."""
    known: dict[Hashable, int] = {}
    numbers: dict[fx.Node, int] = {}
    for node in graph.nodes:
        key: Hashable = node
        if node.op == "call_function":
            args = fx.node.map_arg((node.args, node.kwargs), lambda arg: f"%{numbers[arg]}")
            key = (node.target, repr(args))
        numbers[node] = known.setdefault(key, len(known))
    return numbers


class _NoLoop(Exception):
    """The steps are not those of a loop that can be rolled."""


class _Loop:
    """The steps of one loop, and what is computed for all of them at once."""

    def __init__(
        self, graph: fx.Graph, steps: Sequence[fx.Node], numbers: dict[fx.Node, int]
    ) -> None:
        self.graph, self.steps, self.numbers = graph, tuple(steps), numbers
        self.own: set[fx.Node] = set()
        """The nodes that were added."""
        self.states: list[tuple[fx.Node, fx.Node]] = []
        """For each scan the last state of the unrolled loop, and all of its states."""
        self._known: dict[tuple[fx.Node, ...], fx.Node] = {}

    def at_once(self, nodes: tuple[fx.Node, ...]) -> fx.Node:
        """Return one node for the values that the steps have for ``nodes``, the first dimension
        being time."""
        if nodes not in self._known:
            self._known[nodes] = self._at_once(nodes)
        return self._known[nodes]

    def _at_once(self, nodes: tuple[fx.Node, ...]) -> fx.Node:
        first = nodes[0]
        if not self._are_alike(nodes):
            raise _NoLoop
        if (taken := self._taken(nodes)) is not None:
            return taken
        if (states := self._scanned(nodes)) is not None:
            self.states.append((nodes[-1], states))
            return states
        if torch.Tag.pointwise in first.target.tags or first.target is aten._to_copy.default:
            rank = first.meta["val"].dim()
            return self._mapped(nodes, lambda value: self._widened(value, rank))
        if first.target in (aten.matmul.default, aten.clone.default):
            if any(arg.meta["val"].dim() < 2 for arg in first.all_input_nodes):
                raise _NoLoop
            return self._mapped(nodes, lambda value: value)
        if first.target in _DIMENSIONS or first.target in _SHAPED:
            return self._moved(nodes)
        raise _NoLoop

    def _are_alike(self, nodes: tuple[fx.Node, ...]) -> bool:
        first = nodes[0]
        return isinstance(first.target, torch._ops.OpOverload) and all(
            node.target is first.target
            and len(node.args) == len(first.args)
            and node.kwargs == first.kwargs
            and node.meta["val"].shape == first.meta["val"].shape
            for node in nodes
        )

    def _taken(self, nodes: tuple[fx.Node, ...]) -> fx.Node | None:
        """Return the tensor that the steps take their values from, if each takes its own."""
        first = nodes[0]
        if first.target is not aten.select.int:
            return None
        source, dim = first.args[:2]
        assert isinstance(source, fx.Node) and isinstance(dim, int)
        sizes = source.meta["val"].shape
        places = [node.args[2] % sizes[dim] for node in nodes]  # type: ignore[operator]
        same = all(node.args[1] == dim and self._is_one(node.args[0], source) for node in nodes)
        if not same or places != list(range(len(nodes))):
            return None
        if sizes[dim] != len(nodes):
            source = self.add(aten.slice.Tensor, source, dim, 0, len(nodes))
        dim %= len(sizes)
        others = [d for d in range(len(sizes)) if d != dim]
        return self.add(aten.permute.default, source, [dim, *others])

    def _is_one(self, one: Any, other: fx.Node) -> bool:
        return isinstance(one, fx.Node) and self.numbers.get(one) == self.numbers.get(other)

    def _scanned(self, nodes: tuple[fx.Node, ...]) -> fx.Node | None:
        """Return the states, if each is the one before times what is kept, plus what is added."""
        if nodes[0].target is not aten.add.Tensor or nodes[0].kwargs:
            return None
        for place in (0, 1):
            products = [node.args[place] for node in nodes]
            added = tuple(node.args[1 - place] for node in nodes)
            kept = _factors(products, nodes)
            if kept is not None and all(isinstance(value, fx.Node) for value in added):
                return self._scan(nodes[0], kept, added, products[0])  # type: ignore[arg-type]
        return None

    def _scan(
        self, first: fx.Node, kept: tuple[fx.Node, ...], added: tuple[fx.Node, ...], product: Any
    ) -> fx.Node:
        shape = [len(kept), *first.meta["val"].shape]
        dtype = first.meta["val"].dtype

        def whole(nodes: tuple[fx.Node, ...]) -> fx.Node:
            value = self._widened(self._value(nodes), len(shape) - 1)
            if value.meta["val"].dtype != dtype:
                raise _NoLoop
            return self.add(aten.expand.default, value, shape)

        both = whole(kept), whole(added)
        (start,) = (arg for arg in product.args if arg is not kept[0])
        if not _is_zero(start):
            begun = self.add(aten.unsqueeze.default, first, 0)
            rest = self.add(aten.slice.Tensor, both[1], 0, 1, len(kept))
            both = both[0], self.add(aten.cat.default, [begun, rest], 0)
        return self.add(torch.ops.kernelwright_whole.decaying_sum.default, *both)

    def _value(self, nodes: tuple[Any, ...]) -> fx.Node:
        """Return the values of all steps; of a value that all steps share, itself."""
        if all(self._is_one(node, nodes[0]) for node in nodes):
            return nodes[0]
        return self.at_once(nodes)

    def _is_timed(self, value: fx.Node) -> bool:
        return value in self.own

    def _widened(self, value: fx.Node, rank: int) -> fx.Node:
        """Return values with as many dimensions beside time as the result has, so that they are
        broadcast as in one step."""
        while self._is_timed(value) and value.meta["val"].dim() < rank + 1:
            value = self.add(aten.unsqueeze.default, value, 1)
        return value

    def _mapped(self, nodes: tuple[fx.Node, ...], change: Any) -> fx.Node:
        """Return the steps' operator on the values of all steps."""
        args = []
        for place, arg in enumerate(nodes[0].args):
            each = tuple(node.args[place] for node in nodes)
            if isinstance(arg, fx.Node):
                args.append(change(self._value(each)))
            elif any(other != arg for other in each):
                raise _NoLoop
            else:
                args.append(arg)
        return self.add(nodes[0].target, *args, **nodes[0].kwargs)

    def _moved(self, nodes: tuple[fx.Node, ...]) -> fx.Node:
        """Return a view or a reduction of the values of all steps, one dimension further in."""
        first = nodes[0]
        each = tuple(node.args[0] for node in nodes)
        value = self._value(each)
        others = first.args[1:]
        if not self._is_timed(value) or any(node.args[1:] != others for node in nodes):
            raise _NoLoop
        if first.target in _SHAPED:
            return self.add(first.target, value, [len(nodes), *others[0]])  # type: ignore[misc]
        n_dims = 2 if first.target is aten.transpose.int else 1
        rank = first.args[0].meta["val"].dim()  # type: ignore[union-attr]
        rank += first.target is aten.unsqueeze.default
        dims = tree_map(lambda dim: dim % rank + 1, list(others[:n_dims]))
        if first.target is aten.permute.default:
            dims = [[0, *dims[0]]]
        return self.add(first.target, value, *dims, *others[n_dims:], **first.kwargs)

    def add(self, target: Any, *args: Any, **kwargs: Any) -> fx.Node:
        """Add a node with its fake value."""
        node = self.graph.call_function(target, args, kwargs)
        fakes = fx.node.map_arg((args, kwargs), lambda arg: arg.meta["val"])
        node.meta["val"] = target(*fakes[0], **fakes[1])
        self.own.add(node)
        return node


def _factors(products: Sequence[Any], states: Sequence[fx.Node]) -> tuple[fx.Node, ...] | None:
    """Return what the state before is multiplied by in each step."""
    if not all(isinstance(p, fx.Node) and p.target is aten.mul.Tensor for p in products):
        return None
    for place in (0, 1):
        later = zip(products[1:], states, strict=False)
        if all(product.args[place] is before for product, before in later):
            kept = tuple(product.args[1 - place] for product in products)
            return kept if all(isinstance(factor, fx.Node) for factor in kept) else None
    return None


def _is_zero(node: Any) -> bool:
    while isinstance(node, fx.Node) and node.target in (aten.expand.default, operator.getitem):
        node = node.args[0]
    if not isinstance(node, fx.Node) or node.target not in _ZEROS:
        return False
    return all(node.args[place] == 0 for place in _ZEROS[node.target])
