"""Batch norms of concatenations: the statistics of a part are reduced once for all that have it.

The layers of a dense block norm what the layer before did and one part more. A channel's statistics
are the same in all of them.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Sequence
from typing import Any

import torch
from torch import fx

from kernelwright.compiler.lower.joins import leaves_of
from kernelwright.compiler.rewrite.pattern import call

aten = torch.ops.aten
NAME = "a channel's statistics are those of the part that it is from"
LEAST_BYTES = 2**25
"""Bytes of the largest concatenation from which reading its parts once saves more than the small
kernels cost that move the running statistics: what is smaller lies in a GPU's cache."""
_BATCH_NORM = aten._native_batch_norm_legit_functional.default


def statistics_of_parts(graph: fx.Graph, least_bytes: int) -> bool:
    """Give batch norms the statistics of the parts of what they norm; return whether there was
    any such norm.

    It is one of several of the same part, in training, over float32; the largest concatenation has
    at least so many bytes.
    """
    whole = leaves_of(graph)
    norms = [
        (node, whole.get(node.args[0], (node.args[0],))) for node in graph.nodes if _fits(node)
    ]
    counts = Counter(leaf for _, leaves in norms for leaf in leaves)
    shared = {leaf for _, leaves in norms if len(leaves) > 1 for leaf in leaves if counts[leaf] > 1}
    chosen = [(node, leaves) for node, leaves in norms if shared & {*leaves}]
    if max((_bytes(node.args[0]) for node, _ in chosen), default=0) < least_bytes:
        return False
    known: dict[fx.Node, tuple[fx.Node, fx.Node]] = {}
    for node, leaves in chosen:
        with graph.inserting_before(node):
            for leaf in leaves:
                if leaf not in known:
                    known[leaf] = _statistics(graph, leaf)
            _replace(graph, node, [known[leaf] for leaf in leaves])
    return True


def _fits(node: fx.Node) -> bool:
    if node.target is not _BATCH_NORM:
        return False
    x, _, _, mean, variance, training, *_ = node.args
    is_float = all(part.meta["val"].dtype == torch.float32 for part in (x, mean, variance))
    return bool(training) and is_float and x.meta["val"].dim() == 4


def _bytes(node: fx.Node) -> int:
    return 4 * int(node.meta["val"].numel())


def _statistics(graph: fx.Graph, leaf: fx.Node) -> tuple[fx.Node, fx.Node]:
    """Return the mean and the variance of the channels of a part."""
    both = call(graph, aten.var_mean.correction, leaf, [0, 2, 3], correction=0)
    variance, mean = (_part(graph, both, place) for place in range(2))
    return mean, variance


def _part(graph: fx.Graph, whole: fx.Node, place: int) -> fx.Node:
    part = graph.call_function(operator.getitem, (whole, place))
    part.meta["val"] = whole.meta["val"][place]
    return part


def _replace(graph: fx.Graph, norm: fx.Node, statistics: Sequence[tuple[fx.Node, fx.Node]]) -> None:
    """Let all that reads the norm's results read those of a norm with known statistics."""
    x, weight, bias, old_mean, old_variance, _, momentum, eps = norm.args
    mean, variance = (
        column[0] if len(column) == 1 else call(graph, "cat", [*column], 0)
        for column in map(list, zip(*statistics, strict=True))
    )
    given = (x, weight, bias, mean, variance, momentum, eps)
    known = call(graph, aten._native_batch_norm_legit_no_training.default, *given)
    n_values = x.meta["val"].numel() // x.meta["val"].shape[1]
    unbiased = n_values / max(1, n_values - 1)

    def moved(old: fx.Node, new: fx.Node, factor: float) -> fx.Node:
        kept = call(graph, aten.mul.Scalar, old, 1.0 - momentum)
        return call(graph, "add", kept, call(graph, aten.mul.Scalar, new, momentum * factor))

    made = {
        0: lambda: _part(graph, known, 0),
        1: lambda: mean,
        2: lambda: call(graph, "rsqrt", call(graph, aten.add.Scalar, variance, eps)),
        3: lambda: moved(old_mean, mean, 1.0),
        4: lambda: moved(old_variance, variance, unbiased),
    }
    users: list[Any] = list(norm.users)
    for user in users:
        user.replace_all_uses_with(made[user.args[1]]())
        graph.erase_node(user)
    graph.erase_node(norm)
