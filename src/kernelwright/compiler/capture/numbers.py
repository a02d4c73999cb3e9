"""Tensors that a forward makes from Python numbers.

``torch.tensor([0, 0, 1, 1])`` in a forward is a constant beside the graph. It becomes part of the
graph: a progression whose numbers are repeated, as the head of keys for each head of queries, or a
few runs of one number each. In ``torch.tensor(index.tolist())`` the numbers come from a tensor, and
the copy through the host is one more conversion.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import torch
from torch import fx
from torch._subclasses import FakeTensor

aten = torch.ops.aten
MOST_RUNS = 16
"""Runs of equal numbers in one constant. With more, a table in memory would serve better, and no
module has it as an attribute."""


class ManyNumbers(Exception):
    """A constant of many different numbers, which cannot be written into a graph."""


def write_out(graph: fx.Graph, name: str, value: torch.Tensor) -> None:
    """Replace the placeholder of a constant by operators that make it.

    Raises:
        ManyNumbers: the numbers are no progression, and in more than ``MOST_RUNS`` runs.
    """
    (node,) = (n for n in graph.nodes if n.name == name)
    if value.numel() == 0:
        raise ManyNumbers
    first = next(n for n in graph.nodes if n.op != "placeholder")
    with graph.inserting_before(first):
        made = _progression(graph, value) or _runs(graph, value)
        if made.meta["val"].shape != value.shape:
            made = added(graph, aten.view.default, (made, list(value.shape)))
    made.meta["val"] = node.meta["val"]
    node.replace_all_uses_with(made)


def _progression(graph: fx.Graph, value: torch.Tensor) -> fx.Node | None:
    """``start + step * (i // times)`` for place ``i``; None for other numbers."""
    numbers = value.flatten().tolist()
    if value.is_floating_point() or value.dtype is torch.bool or value.is_complex():
        return None
    times = len(next(_equal(numbers)))
    if times == len(numbers) or len(numbers) % times:
        return None
    start, step = numbers[0], numbers[times] - numbers[0]
    n = len(numbers) // times
    if numbers != [start + step * (place // times) for place in range(len(numbers))]:
        return None
    options = {"dtype": value.dtype}
    made = added(graph, aten.arange.start_step, (start, start + n * step, step), options)
    if times == 1:
        return made
    made = added(graph, aten.unsqueeze.default, (made, 1))
    made = added(graph, aten.expand.default, (made, [n, times]))
    return added(graph, aten.reshape.default, (made, [n * times]))


def _runs(graph: fx.Graph, value: torch.Tensor) -> fx.Node:
    runs = list(_equal(value.flatten().tolist()))
    if len(runs) > MOST_RUNS:
        raise ManyNumbers
    options = {"dtype": value.dtype}
    if len(runs) == 1:
        return added(graph, aten.full.default, (list(value.shape), runs[0][0]), options)
    parts = [added(graph, aten.full.default, ([len(run)], run[0]), options) for run in runs]
    return added(graph, aten.cat.default, (parts,))


def _equal(numbers: Sequence[Any]) -> Any:
    """The runs of equal numbers, each as a list. A zero and a negative zero are not equal."""
    return (list(run) for _, run in itertools.groupby(numbers, key=repr))


def stay_on_device(graph: fx.Graph) -> bool:
    """Let numbers that are read from tensors, only to become tensors again, be converted; return
    whether no others are read."""
    read = [n for n in graph.nodes if n.target is aten._local_scalar_dense.default]
    for node in read:
        for user in [n for n in node.users if n.target is aten.scalar_tensor.default]:
            dtype = user.meta["val"].dtype
            with graph.inserting_before(user):
                kept = added(graph, aten._to_copy.default, (node.args[0],), {"dtype": dtype})
                if kept.meta["val"].dim():
                    kept = added(graph, aten.reshape.default, (kept, []))
            user.replace_all_uses_with(kept)
            graph.erase_node(user)
        if node.users:
            return False
        graph.erase_node(node)
    return True


def added(graph: fx.Graph, operator: Any, args: Any, kwargs: Any | None = None) -> fx.Node:
    """A node with its own fake value."""
    node = graph.call_function(operator, args, kwargs or {})
    given, named = fx.node.map_arg((args, kwargs or {}), lambda arg: arg.meta["val"])
    with _fake_mode(graph), torch.no_grad():
        node.meta["val"] = operator(*given, **named)
    return node


def _fake_mode(graph: fx.Graph) -> Any:
    return next(
        value.fake_mode
        for node in graph.nodes
        if isinstance(value := node.meta.get("val"), FakeTensor)
    )
