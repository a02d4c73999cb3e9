"""Terms: graph nodes in a canonical form, so that one pattern stands for all spellings.

softmax(x, -1)                dimensions count from the end
sum(x, (-1,), True)           dimensions sorted, keepdim always given; mean, amax, ... alike
mT(x)                         any exchange of the last two dimensions
matmul(a, b)                  also mm and bmm
linear(x, w, b)               None without a bias; conv2d(x, w, b, ...) with all arguments
avg_pool2d(x, size, far)      windows without padding; also avg_pool1d and avg_pool3d
clamp(x, low, high)           also clamp_min, clamp_max and hardtanh; None without a limit
mul(x, y), add(x, y)          y is a number where one of them is; numbers alone as Python's
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import fx

from kernelwright.compiler.capture.capture import REAL
from kernelwright.compiler.lower.graph import name_of
from kernelwright.compiler.lower.windows import spread

REDUCTIONS = ("sum", "mean", "amax", "amin", "logsumexp", "prod")
_CONVOLUTION = {"stride": 1, "padding": 0, "dilation": 1, "groups": 1}
_TRANSPOSED = {"stride": 1, "padding": 0, "output_padding": 0, "groups": 1, "dilation": 1}
"""Arguments after the bias, in order, with their defaults: native_functions.yaml."""


@dataclass(frozen=True)
class Term:
    """An operator and its arguments; arguments that are values stay graph nodes."""

    op: str
    args: tuple[Any, ...]


def shape_of(node: fx.Node) -> tuple[int, ...]:
    """The shape of a node's value."""
    return tuple(int(size) for size in node.meta["val"].shape)


def rank_of(node: fx.Node) -> int:
    """The number of dimensions of a node's value."""
    return len(node.meta["val"].shape)


def real_value(node: fx.Node) -> torch.Tensor | None:
    """The value of a node that follows from attributes alone, as they were when captured."""
    if node.op == "placeholder":
        return node.meta.get(REAL)
    if node.op != "call_function" or not node.all_input_nodes:
        return None
    known = {arg: real_value(arg) for arg in node.all_input_nodes}
    if any(value is None for value in known.values()):
        return None
    args, kwargs = fx.node.map_arg((node.args, node.kwargs), lambda arg: known[arg])
    with torch.no_grad():
        return node.target(*args, **kwargs)  # type: ignore[operator]


def term_of(node: fx.Node) -> Term | None:
    """The canonical form; None for placeholders and for results that are not one tensor."""
    if node.op != "call_function" or not isinstance(node.meta.get("val"), torch.Tensor):
        return None
    name, args = name_of(node), node.args
    if name in (*REDUCTIONS, "softmax", "log_softmax") and _is_converted(node):
        return None
    if name in REDUCTIONS:
        return _reduction(node, name)
    if name in ("softmax", "log_softmax"):
        return Term(name, (args[0], args[1] % rank_of(node) - rank_of(node)))
    if name in ("transpose", "permute", "t", "numpy_T") and _swaps_last_two(node):
        return Term("mT", (args[0],))
    if name == "clone":
        return Term(name, args)
    if name in ("max", "min") and len(args) == 2 and isinstance(args[1], fx.Node):
        return Term(name + "imum", tuple(_number(arg) for arg in args))
    if name in ("mm", "bmm"):
        return Term("matmul", args)
    if name in ("clamp", "clamp_min", "clamp_max", "hardtanh"):
        return _clamp(node, name)
    if name in ("avg_pool1d", "avg_pool2d", "avg_pool3d"):
        return _average_pool(node, name)
    if name == "linear":
        return Term(name, (*args, None)[:3])
    if name.startswith("conv") and name[-1] == "d":
        return _convolution(node, name)
    if name in ("mul", "add") and not node.kwargs:
        first, second = (_number(arg) for arg in args)
        return Term(name, (second, first) if not isinstance(first, fx.Node) else (first, second))
    if name in ("div", "sub", "maximum", "minimum") and not node.kwargs:
        return Term(name, tuple(_number(arg) for arg in args))
    return Term(name, args) if not node.kwargs else None


def _is_converted(node: fx.Node) -> bool:
    """Whether the operator was given a type of its own to compute in, which no term says."""
    first: Any = node.args[0]
    return bool(node.meta["val"].dtype != first.meta["val"].dtype)


def _number(arg: Any) -> Any:
    """The number in a tensor that ``full`` makes of one; anything else as it is."""
    while isinstance(arg, fx.Node) and arg.op == "call_function" and name_of(arg) == "clone":
        arg = arg.args[0]
    is_full = isinstance(arg, fx.Node) and arg.op == "call_function" and name_of(arg) == "full"
    return arg.args[1] if is_full and arg.meta["val"].numel() == 1 else arg


def _reduction(node: fx.Node, name: str) -> Term:
    args = list(node.args)
    rank = rank_of(args[0])  # type: ignore[arg-type]
    dims = args[1] if len(args) > 1 else None
    dims = [dims] if isinstance(dims, int) else dims
    chosen = sorted(d % rank - rank for d in dims) if dims else list(range(-rank, 0))  # type: ignore[union-attr]
    keepdim = bool(args[2]) if len(args) > 2 else bool(node.kwargs.get("keepdim", False))
    return Term(name, (args[0], tuple(chosen), keepdim))


def _convolution(node: fx.Node, name: str) -> Term | None:
    spatial = int(name[-2])
    options = _TRANSPOSED if "transpose" in name else _CONVOLUTION
    args = (*node.args, None)[:3] if len(node.args) < 3 else node.args
    given = dict(zip(options, args[3:], strict=False))
    if isinstance(given.get("padding"), str) or len(node.meta["val"].shape) != spatial + 2:
        return None
    values = [
        value if option == "groups" else spread(value, spatial)
        for option, value in (options | given).items()
    ]
    return Term(name, (*args[:3], *values))


def _average_pool(node: fx.Node, name: str) -> Term | None:
    """With its window and how far apart windows begin; only without padding and the like."""
    x, size, *rest = node.args
    spatial = int(name[-2])
    size = spread(size, spatial)
    far = spread(rest[0], spatial) if rest and rest[0] else size
    padding, *others = [*rest[1:], *(0, False, True, None)[len(rest[1:]) :]]
    is_plain = not any(spread(padding, spatial)) and not others[0] and others[2] is None
    if not is_plain or node.kwargs or rank_of(node) != spatial + 2:
        return None
    return Term(name, (x, size, far))


def _swaps_last_two(node: fx.Node) -> bool:
    rank = rank_of(node)
    name, args = name_of(node), node.args
    if rank < 2:
        return False
    if name == "permute":
        order = [d % rank for d in args[1]]  # type: ignore[union-attr]
        return order == [*range(rank - 2), rank - 1, rank - 2]
    if name == "transpose":
        return {d % rank for d in args[1:]} == {rank - 1, rank - 2}  # type: ignore[operator]
    return rank == 2


def _clamp(node: fx.Node, name: str) -> Term | None:
    given = dict(node.kwargs)
    if name == "hardtanh":
        low, high = (*node.args[1:], *(-1.0, 1.0)[len(node.args) - 1 :])
        low, high = given.get("min_val", low), given.get("max_val", high)
    else:
        first = "max" if name == "clamp_max" else "min"
        given |= dict(zip((first, "max"), node.args[1:], strict=False))
        low, high = given.get("min"), given.get("max")
    if isinstance(low, fx.Node) or isinstance(high, fx.Node):
        return None
    return Term("clamp", (node.args[0], low, high))
