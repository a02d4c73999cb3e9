"""Tensors that a forward writes part by part, as the tensors that the parts make.

``out = torch.empty(...)`` and then ``out[start:end] = part`` in a loop traces as a chain of copies
of all of ``out``. Once the parts are all of it, nothing of the empty tensor is left, and the result
is their concatenation.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import fx

from kernelwright.compiler.capture.numbers import added

aten = torch.ops.aten
_WRITES = (aten.slice_scatter.default, aten.select_scatter.default)


def join_written(graph: fx.Graph) -> None:
    """Replace copies into a tensor by what is copied, and chains of writes by concatenations, where
    these are laid out alike."""
    for node in list(graph.nodes):
        with graph.inserting_before(node):
            made = _copied(graph, node) or _joined(graph, node)
        if made is not None and _serves(made.meta["val"], node.meta["val"]):
            node.replace_all_uses_with(made)
    graph.eliminate_dead_code(is_impure_node=lambda n: n.op in ("placeholder", "output"))


def _copied(graph: fx.Graph, node: fx.Node) -> fx.Node | None:
    """The value that fills a whole tensor, as a tensor of its own: a view of an input is none."""
    if node.target is not aten.copy.default:
        return None
    value, wanted = node.args[1], node.meta["val"]
    assert isinstance(value, fx.Node)
    if value.meta["val"].shape != wanted.shape:
        value = added(graph, aten.expand.default, (value, list(wanted.shape)))
    if value.meta["val"].dtype != wanted.dtype:
        value = added(graph, aten._to_copy.default, (value,), {"dtype": wanted.dtype})
    return _cloned(graph, value, wanted)


def _serves(made: torch.Tensor, wanted: torch.Tensor) -> bool:
    """Whether nothing that follows depends on another layout: what is written into a part of a
    tensor has no layout of its own."""
    has_gaps = torch.empty_like(wanted).stride() != wanted.stride()
    return has_gaps or made.stride() == wanted.stride()


def _cloned(graph: fx.Graph, value: fx.Node, wanted: torch.Tensor) -> fx.Node:
    """A copy of a value, laid out like the wanted one if that is contiguous or as the value is."""
    laid_out = torch.contiguous_format if wanted.is_contiguous() else torch.preserve_format
    return added(graph, aten.clone.default, (value,), {"memory_format": laid_out})


def _joined(graph: fx.Graph, node: fx.Node) -> fx.Node | None:
    """The concatenation of the parts that were written; None if they are not all of the tensor."""
    if node.target not in _WRITES:
        return None
    size, dim = node.meta["val"].shape, _dim(node)
    parts: dict[int, tuple[int, fx.Node]] = {}
    last: Any = node
    while isinstance(last, fx.Node) and last.target in _WRITES and _dim(last) == dim:
        start, end, step = _range(last)
        if step != 1 or any(start < other and begin < end for begin, (other, _) in parts.items()):
            return None
        parts[start] = end, last
        last = last.args[0]
    ends = [end for _, (end, _) in sorted(parts.items())]
    if sorted(parts) != [0, *ends[:-1]] or ends[-1] != size[dim]:
        return None
    values = [_part(graph, write, dim) for _, (_, write) in sorted(parts.items())]
    if len(values) == 1:
        return _cloned(graph, values[0], node.meta["val"])
    return added(graph, aten.cat.default, (values, dim))


def _dim(node: fx.Node) -> int:
    dim: int = (*node.args, 0)[2]  # type: ignore[assignment]
    return dim % len(node.meta["val"].shape)


def _range(node: fx.Node) -> tuple[int, int, int]:
    """The first place that is written, the one after the last, and the step."""
    size = node.meta["val"].shape[_dim(node)]
    if node.target is aten.select_scatter.default:
        at: int = node.args[3] % size  # type: ignore[operator,assignment]
        return at, at + 1, 1
    start, end, step = (*node.args[3:], None, None, None)[:3]
    first, last, _ = slice(start, end, step or 1).indices(size)  # type: ignore[arg-type]
    return first, max(first, last), step or 1  # type: ignore[return-value]


def _part(graph: fx.Graph, node: fx.Node, dim: int) -> fx.Node:
    value = node.args[1]
    assert isinstance(value, fx.Node)
    if node.target is aten.select_scatter.default:
        value = added(graph, aten.unsqueeze.default, (value, dim))
    dtype = node.meta["val"].dtype
    if value.meta["val"].dtype != dtype:
        value = added(graph, aten._to_copy.default, (value,), {"dtype": dtype})
    return value
