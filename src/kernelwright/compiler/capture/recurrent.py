"""Recurrent networks are captured whole, and become steps of our own where an emitter supports
them.

torch unrolls ``lstm`` and its like into thousands of operators when it traces them on a CPU. While
a module is captured, custom operators of the same meaning take their place, and torch does not
unroll those.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import fx

from kernelwright.compiler.ir.ir import Call, Program, Recurrence, Ref, Step, Tensor
from kernelwright.compiler.ir.whole import own_calls

CELLS = ("lstm", "gru", "rnn_tanh", "rnn_relu")
_ARGUMENTS = (
    "Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, "
    "bool bidirectional, bool batch_first"
)
_LIBRARY = torch.library.Library("kernelwright_whole", "DEF")


def _define(cell: str) -> None:
    hx, count = ("Tensor[] hx", 3) if cell == "lstm" else ("Tensor hx", 2)
    results = ", ".join(["Tensor"] * count)
    _LIBRARY.define(f"{cell}(Tensor input, {hx}, {_ARGUMENTS}) -> ({results})")

    def shapes(x: Any, hx: Any, params: Any, *rest: Any) -> Any:
        states = hx if cell == "lstm" else [hx]
        bidirectional, batch_first = rest[-2:]
        width = states[0].shape[2] * (2 if bidirectional else 1)
        n, length = x.shape[:2] if batch_first else x.shape[1::-1]
        sequence = x.new_empty((length, n, width))
        return (
            sequence.transpose(0, 1) if batch_first else sequence,
            *(torch.empty_like(state, memory_format=torch.contiguous_format) for state in states),
        )

    torch.library.register_fake(f"kernelwright_whole::{cell}", shapes, lib=_LIBRARY)


for _cell in CELLS:
    _define(_cell)


class _Whole:
    """torch's functions, except that recurrent networks over unpacked sequences trace as one
    operator."""

    def __init__(self, functions: Any) -> None:
        self._functions = functions

    def __getattr__(self, name: str) -> Any:
        original = getattr(self._functions, name)
        if name not in CELLS:
            return original
        whole = getattr(torch.ops.kernelwright_whole, name)

        def call(x: Any, second: Any, *rest: Any) -> Any:
            is_packed = not isinstance(rest[0], (list, tuple))
            if is_packed or x.dim() != 3:
                return original(x, second, *rest)
            states = list(second) if isinstance(second, tuple) else second
            return whole(x, states, list(rest[0]), *rest[1:])

        return call


@contextlib.contextmanager
def left_whole() -> Iterator[None]:
    """Trace torch.nn's recurrent modules as one operator each while the context is active."""
    functions = torch.nn.modules.rnn._VF
    torch.nn.modules.rnn._VF = _Whole(functions)
    try:
        yield
    finally:
        torch.nn.modules.rnn._VF = functions


def restore(graph: fx.Graph) -> None:
    """Put torch's own operators back in place of those that ``left_whole`` traced."""
    for node in graph.nodes:
        if node.op == "call_function" and "kernelwright_whole" in str(node.target):
            cell = node.target.overloadpacket.__name__
            node.target = getattr(torch.ops.aten, cell).input


def own_recurrences(program: Program, supports: Callable[[Step], bool]) -> Program:
    """Return ``program`` with its recurrent networks as steps of our own where ``supports``
    agrees."""

    def made_of(call: Call, tensors: dict[str, Tensor]) -> Sequence[Recurrence]:
        own = _recurrence(call, tensors)
        return [own] if own and supports(own) else []

    return own_calls(program, made_of)


def _recurrence(call: Call, tensors: dict[str, Tensor]) -> Recurrence | None:
    """Return the call as a Recurrence; None if it is not one, or uses dropout."""
    cell = call.target.removeprefix("torch.ops.aten.").partition(".")[0]
    if cell not in CELLS or call.kwargs or not call.target.endswith(".input"):
        return None
    x, hx, params, biased, n_layers, dropout, train, bidirectional, batch_first = call.args
    refs = [x, *(hx if cell == "lstm" else [hx]), *params]
    if not all(isinstance(ref, Ref) for ref in refs) or (dropout and train):
        return None
    first, *others = (tensors[ref.name] for ref in refs)
    n_states = 2 if cell == "lstm" else 1
    states, weights = tuple(others[:n_states]), tuple(others[n_states:])
    return Recurrence(
        f"recurrent_{cell}",
        cell,
        first,
        states,
        weights,
        call.outputs,
        n_layers,
        biased,
        bidirectional,
        batch_first,
        call.origin,
    )
