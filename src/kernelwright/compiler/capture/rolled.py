"""Loops over time that a trace unrolled are rolled up again into one recurrent network.

A module that loops over its input's steps traces as that many copies of the same few operators. If
each step is ``h = tanh(linear(cat(x[t], h), w, b))``, the copies are one layer of torch's own
recurrent network whose two weights are slices of the columns of ``w``. A linear map of every state,
stacked again afterwards, becomes one linear map of the whole sequence.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx

aten = torch.ops.aten
CELLS = {aten.tanh.default: "rnn_tanh", aten.relu.default: "rnn_relu"}
LEAST_STEPS = 4


@dataclass(frozen=True)
class TimeStep:
    """One time step: the state that it computes, and the values it computes it from."""

    state: fx.Node
    before: fx.Node
    x: fx.Node
    time: int
    weight: fx.Node
    bias: fx.Node | None
    state_first: bool


def roll(graph: fx.Graph) -> None:
    """Replace every unrolled recurrence of this kind by one recurrent network."""
    steps = {step.state: step for node in graph.nodes if (step := _step(node)) is not None}
    inner = {step.before for step in steps.values()}
    for last in [step for state, step in steps.items() if state not in inner]:
        chain = [last]
        while chain[-1].before in steps:
            chain.append(steps[chain[-1].before])
        _roll(graph, chain[::-1])
    graph.eliminate_dead_code(is_impure_node=lambda n: n.op in ("placeholder", "output"))


def _step(node: fx.Node) -> TimeStep | None:
    if node.op != "call_function" or node.target not in CELLS:
        return None
    linear = node.args[0]
    if not _is(linear, aten.linear.default) or len(linear.users) != 1:  # type: ignore[union-attr]
        return None
    both, weight, bias = (*linear.args, None)[:3]  # type: ignore[union-attr]
    if not _is(both, aten.cat.default) or len(both.args[0]) != 2 or _rank(both) != 2:
        return None
    if (*both.args, 0)[1] % 2 != 1 or len(both.users) != 1:
        return None
    for state_first in (False, True):
        x, before = both.args[0][::-1] if state_first else both.args[0]
        is_step = _is(x, aten.select.int) and x.args[1] == 0
        if is_step and before.meta["val"].shape == _shape(node):
            return TimeStep(node, before, x.args[0], x.args[2], weight, bias, state_first)
    return None


def _is(node: Any, target: Any) -> bool:
    return isinstance(node, fx.Node) and node.target is target


def _rank(node: fx.Node) -> int:
    return node.meta["val"].dim()


def _shape(node: fx.Node) -> torch.Size:
    return node.meta["val"].shape


def _roll(graph: fx.Graph, chain: list[TimeStep]) -> None:
    first = chain[0]
    alike = {(s.x, s.weight, s.bias, s.state_first, s.state.target) for s in chain}
    n_steps = _shape(first.x)[0]
    whole = [s.time % n_steps for s in chain] == list(range(n_steps)) and _rank(first.x) == 3
    if len(alike) != 1 or not whole or n_steps < LEAST_STEPS or first.bias is None:
        return
    # the linear layer: every value that the network needs exists by this point
    start = first.state.args[0]
    with graph.inserting_before(start):  # type: ignore[arg-type]
        sequence = _network(graph, first)
        for time, step in enumerate(chain):
            step.state.replace_all_uses_with(_node(graph, aten.select.int, sequence, 0, time))
    for node in list(graph.nodes):
        if _is(node, aten.stack.default) and (*node.args, 0)[1] == 0:
            _join_maps(graph, node, sequence)


def _join_maps(graph: fx.Graph, stack: fx.Node, sequence: fx.Node) -> None:
    """Replace a stack of one linear map applied to every state by one linear map of the
    sequence."""
    maps: Any = stack.args[0]
    if len(maps) != _shape(sequence)[0] or not all(_is(m, aten.linear.default) for m in maps):
        return
    of = [m.args[0] for m in maps]
    in_order = all(
        _is(state, aten.select.int) and state.args == (sequence, 0, time)
        for time, state in enumerate(of)
    )
    if in_order and len({m.args[1:] for m in maps}) == 1:
        with graph.inserting_before(stack):
            whole = _node(graph, aten.linear.default, sequence, *maps[0].args[1:])
        stack.replace_all_uses_with(whole)


def _network(graph: fx.Graph, step: TimeStep) -> fx.Node:
    """Insert the recurrent layer and return its sequence of states."""
    n_hidden, n_x = _shape(step.before)[1], _shape(step.x)[2]
    cut = n_hidden if step.state_first else n_x
    # cuDNN requires weights and an initial state with contiguous rows.
    left, right = (
        _dense(graph, aten.slice.Tensor, step.weight, 1, *ends)
        for ends in ((0, cut), (cut, n_hidden + n_x))
    )
    w_x, w_h = (right, left) if step.state_first else (left, right)
    none = _node(graph, aten.zeros_like.default, step.bias)
    h0 = _dense(graph, aten.unsqueeze.default, step.before, 0)
    cell = CELLS[step.state.target]  # type: ignore[index]
    args = (step.x, h0, [w_x, w_h, step.bias, none], True, 1, 0.0, False, False, False)
    both = graph.call_function(getattr(aten, cell).input, args)
    values = fx.node.map_arg(args, lambda arg: arg.meta["val"])
    both.meta["val"] = getattr(torch.ops.kernelwright_whole, cell)(*values)
    sequence = graph.call_function(operator.getitem, (both, 0))
    sequence.meta["val"] = both.meta["val"][0]
    return sequence


def _node(graph: fx.Graph, target: Any, *args: Any) -> fx.Node:
    """Add a node, with its fake value computed from the values of its arguments."""
    node = graph.call_function(target, args)
    node.meta["val"] = target(*fx.node.map_arg(args, lambda arg: arg.meta["val"]))
    return node


def _dense(graph: fx.Graph, target: Any, *args: Any) -> fx.Node:
    """Add a node like ``_node``, followed by a copy that makes its result contiguous."""
    return _node(graph, aten.contiguous.default, _node(graph, target, *args))
