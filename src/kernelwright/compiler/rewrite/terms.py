"""Terms: graph nodes in a canonical form, so that one pattern matches all spellings.

softmax(x, -1)                dimensions count from the end
wide_softmax(x, -1)           of 16 bits in float32
cast(x, dtype)                also to and _to_copy, if they change nothing else
sum(x, (-1,), True)           dimensions sorted, keepdim always given; mean, amax, ... alike
mT(x)                         any exchange of the last two dimensions
matmul(a, b)                  also mm and bmm
linear(x, w, b)               None without a bias; conv2d(x, w, b, ...) with all arguments
avg_pool2d(x, size, far)      windows without padding; also avg_pool1d and avg_pool3d
clamp(x, low, high)           also clamp_min, clamp_max and hardtanh; None without a limit
scaled_dot_product_attention  with all eight arguments
mul(x, y), add(x, y)          y is a number where one of them is; numbers alone as Python's
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx

from kernelwright.compiler.capture.capture import REAL
from kernelwright.compiler.lower.graph import name_of
from kernelwright.compiler.lower.windows import spread

REDUCTIONS = ("sum", "mean", "amax", "amin", "logsumexp", "prod")
_SOFTMAXES = ("softmax", "log_softmax")
_OF_NUMBERS = ("div", "sub", "maximum", "minimum")
_CONVOLUTION = {"stride": 1, "padding": 0, "dilation": 1, "groups": 1}
_TRANSPOSED = {"stride": 1, "padding": 0, "output_padding": 0, "groups": 1, "dilation": 1}
"""Arguments after the bias, in order, with their defaults: native_functions.yaml."""


@dataclass(frozen=True)
class Term:
    """An operator and its arguments; arguments that are values stay graph nodes."""

    op: str
    args: tuple[Any, ...]


def shape_of(node: fx.Node) -> tuple[int, ...]:
    """Return the shape of a node's value."""
    return tuple(int(size) for size in node.meta["val"].shape)


def rank_of(node: fx.Node) -> int:
    """Return the number of dimensions of a node's value."""
    return len(node.meta["val"].shape)


def real_value(node: fx.Node) -> torch.Tensor | None:
    """Return the value of a node that depends on attributes alone, as they were when captured."""
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
    """Return the canonical form; None for placeholders and for results that are not one tensor."""
    if node.op != "call_function" or not isinstance(node.meta.get("val"), torch.Tensor):
        return None
    name = name_of(node)
    if name in (*REDUCTIONS, *_SOFTMAXES) and _is_converted(node):
        is_wide = name == "softmax" and node.meta["val"].dtype is torch.float32
        return _softmax(node, "wide_softmax") if is_wide else None
    if name in ("transpose", "permute", "t", "numpy_T") and _swaps_last_two(node):
        return Term("mT", (node.args[0],))
    if name in ("max", "min") and _is_of_two(node):
        return Term(name + "imum", tuple(_number(arg) for arg in node.args))
    if name in ("mul", "add", *_OF_NUMBERS) and not node.kwargs:
        return _arithmetic(node, name)
    if canonical := _CANONICAL.get(name):
        return canonical(node, name)
    if name.startswith("conv") and name[-1] == "d":
        return _convolution(node, name)
    return Term(name, node.args) if not node.kwargs else None


def _is_of_two(node: fx.Node) -> bool:
    return len(node.args) == 2 and isinstance(node.args[1], fx.Node)


def _arithmetic(node: fx.Node, name: str) -> Term:
    """Return the term with numbers as Python's; mul and add have theirs second."""
    first, second = (_number(arg) for arg in node.args)
    if name in ("mul", "add") and not isinstance(first, fx.Node):
        first, second = second, first
    return Term(name, (first, second))


def _is_converted(node: fx.Node) -> bool:
    """Return whether the operator was given a separate dtype to compute in, which terms do not
    express."""
    first: Any = node.args[0]
    return bool(node.meta["val"].dtype != first.meta["val"].dtype)


def _number(arg: Any) -> Any:
    """Return the number in a tensor that ``full`` creates; any other argument unchanged."""
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
    """Return a pooling with its window and the distance between windows; None if it has padding or
    the like."""
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


def _softmax(node: fx.Node, name: str) -> Term:
    rank = rank_of(node)
    return Term(name, (node.args[0], node.args[1] % rank - rank))  # type: ignore[operator]


def _cast(node: fx.Node, name: str) -> Term | None:
    given = dict(node.kwargs)
    dtype = given.pop("dtype", None) or (node.args[1] if len(node.args) > 1 else None)
    is_plain = isinstance(dtype, torch.dtype) and len(node.args) <= 2 and not any(given.values())
    return Term("cast", (node.args[0], dtype)) if is_plain else None


def _unchanged(node: fx.Node, name: str) -> Term:
    return Term(name, node.args)


def _matmul(node: fx.Node, name: str) -> Term:
    return Term("matmul", node.args)


def _linear(node: fx.Node, name: str) -> Term:
    return Term(name, (*node.args, None)[:3])


def _attention(node: fx.Node, name: str) -> Term:
    options = (node.kwargs.get("scale"), node.kwargs.get("enable_gqa", False))
    return Term(name, (*node.args, *(None, 0.0, False)[len(node.args) - 3 :], *options))


_CANONICAL: dict[str, Callable[[fx.Node, str], Term | None]] = {
    **dict.fromkeys(REDUCTIONS, _reduction),
    **dict.fromkeys(_SOFTMAXES, _softmax),
    **dict.fromkeys(("mm", "bmm"), _matmul),
    **dict.fromkeys(("clamp", "clamp_min", "clamp_max", "hardtanh"), _clamp),
    **dict.fromkeys(("avg_pool1d", "avg_pool2d", "avg_pool3d"), _average_pool),
    "linear": _linear,
    "scaled_dot_product_attention": _attention,
    **dict.fromkeys(("to", "_to_copy"), _cast),
    "clone": _unchanged,
}
"""ATen operator → the function that brings its nodes to canonical form."""
