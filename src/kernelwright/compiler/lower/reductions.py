"""Reductions, norms and scans."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from kernelwright.compiler.fuse.flow import (
    Node,
    Running,
    Unsupported,
    broadcast,
    first_of,
    fold,
    reshape,
)
from kernelwright.compiler.ir.ir import NARROW
from kernelwright.compiler.lower.table import Result, cast, constant, lowers, operand, point


def compute(dtype: str) -> str:
    """Return the dtype in which a value of ``dtype`` is computed."""
    return "float32" if dtype in NARROW else dtype


def dims_of(arg: Node, dims: Any) -> list[int]:
    """Return the reduced dimensions of an ATen argument; None and [] mean all of them."""
    rank = len(arg.shape)
    if dims is None or dims == []:
        return list(range(rank))
    return sorted(
        {d % max(rank, 1) for d in ([dims] if isinstance(dims, int) else dims)} if rank else []
    )


def mean_of(arg: Node, dims: Sequence[int], *, keepdim: bool) -> Node:
    """Return the arithmetic mean over ``dims``."""
    total = fold("sum", arg, dims, keepdim=keepdim)
    count = math.prod(arg.shape[d] for d in dims)
    return point("div", total, constant(total, float(count))) if count != 1 else total


def variance_of(arg: Node, dims: Sequence[int], correction: float) -> tuple[Node, Node, Node]:
    """Return (variance, mean, ``arg`` - mean), the first two with the reduced dimensions kept.

    The variance takes two passes for accuracy, and everything is computed from differences to the
    first value of each row. Equal values then differ by exactly zero, where a rounded mean would
    leave an error that norms divide by sqrt(eps). For values far from zero, sums lose digits of the
    differences, not of the values. Only the returned mean is rounded at the magnitude of the first
    value: it loses digits in a row whose first value is far from its mean.
    """
    first = first_of(arg, dims)
    apart = point("sub", arg, broadcast(first, arg.shape))
    mean = mean_of(apart, dims, keepdim=True)
    centred = point("sub", apart, broadcast(mean, arg.shape))
    total = fold("sum", point("square", centred), dims, keepdim=True)
    count = math.prod(arg.shape[d] for d in dims) - correction
    if count <= 0:
        raise Unsupported("the variance of too few values")
    variance = point("div", total, constant(total, float(count)))
    return variance, point("add", mean, first), centred


def _shaped(node: Node, result: Result) -> Node:
    return cast(reshape(node, result.shape), result.dtype)


@lowers("sum", "prod")
def total(result: Result, arg: Node, dims: Any = None, keepdim: bool = False, **_: Any) -> Node:
    op = result.operator.partition(".")[0]
    value = cast(arg, compute(result.dtype))
    return _shaped(fold(op, value, dims_of(arg, dims)), result)


@lowers("mean")
def mean(result: Result, arg: Node, dims: Any = None, keepdim: bool = False, **_: Any) -> Node:
    value = cast(arg, compute(result.dtype))
    return _shaped(mean_of(value, dims_of(arg, dims), keepdim=False), result)


@lowers("amax", "amin")
def extreme(result: Result, arg: Node, dims: Any = None, keepdim: bool = False) -> Node:
    op = result.operator.partition(".")[0].removeprefix("a")
    return _shaped(fold(op, arg, dims_of(arg, dims)), result)


@lowers("max", "min")
def maximum(result: Result, arg: Node, *args: Any, **_: Any) -> Any:
    op = result.operator.partition(".")[0]
    if not args:
        return _shaped(fold(op, arg, dims_of(arg, None)), result)
    if isinstance(args[0], Node):
        left, right = (operand(x, result, result.dtype) for x in (arg, args[0]))
        return point(op + "imum", left, right)
    dims = dims_of(arg, args[0])
    keepdim = len(args) > 1 and args[1]
    return fold(op, arg, dims, keepdim=keepdim), fold("arg" + op, arg, dims, keepdim=keepdim)


@lowers("argmax", "argmin")
def position(result: Result, arg: Node, dim: int | None = None, keepdim: bool = False) -> Node:
    return _shaped(fold(result.operator.partition(".")[0], arg, dims_of(arg, dim)), result)


@lowers("any", "all")
def truth(result: Result, arg: Node, dims: Any = None, keepdim: bool = False) -> Node:
    holds = point("ne", arg, constant(arg, 0), dtype="bool") if arg.dtype != "bool" else arg
    return _shaped(fold(result.operator.partition(".")[0], holds, dims_of(arg, dims)), result)


@lowers("var_mean", "var", "std")
def variance(result: Result, arg: Node, *args: Any, **named: Any) -> Any:
    dims = dims_of(arg, args[0] if args and not isinstance(args[0], bool) else None)
    unbiased = args[0] if args and isinstance(args[0], bool) else True
    correction = named.get("correction")
    correction = (1 if unbiased else 0) if correction is None else correction
    keepdim = named.get("keepdim", False) or (len(args) > 2 and args[2])
    operator = result.operator.partition(".")[0]
    value, average, _ = variance_of(cast(arg, compute(arg.dtype)), dims, correction)
    if operator == "std":
        value = point("sqrt", value)
    parts = [value, average]
    if not keepdim:
        shape = tuple(n for d, n in enumerate(arg.shape) if d not in dims)
        parts = [reshape(part, shape) for part in parts]
    parts = [cast(part, arg.dtype) for part in parts]
    return tuple(parts) if operator == "var_mean" else parts[0]


@lowers("linalg_vector_norm")
def vector_norm(
    result: Result, arg: Node, order: float = 2, dims: Any = None, keepdim: bool = False, **_: Any
) -> Node:
    size = point("abs", cast(arg, compute(result.dtype)))
    chosen = dims_of(arg, dims)
    if order == 2:
        value = point("sqrt", fold("sum", point("square", size), chosen))
    elif order == 1:
        value = fold("sum", size, chosen)
    elif order in (math.inf, -math.inf):
        value = fold("max" if order > 0 else "min", size, chosen)
    else:
        raise Unsupported(f"the norm of order {order}")
    return _shaped(value, result)


@lowers("norm")
def norm(result: Result, arg: Node, order: Any = 2, dims: Any = None, *args: Any, **_: Any) -> Node:
    return vector_norm(result, arg, 2 if order is None else order, dims)


@lowers("softmax", "_softmax", "log_softmax", "_log_softmax")
def softmax(result: Result, arg: Node, dim: int, *_: Any) -> Node:
    dims = dims_of(arg, dim)
    value = cast(arg, compute(result.dtype))
    top = fold("max", value, dims, keepdim=True)
    shifted = point("sub", value, broadcast(top, value.shape))
    weight = point("exp", shifted)
    total = fold("sum", weight, dims, keepdim=True)
    if "log" in result.operator:
        return cast(
            point("sub", shifted, broadcast(point("log", total), value.shape)), result.dtype
        )
    return cast(point("div", weight, broadcast(total, value.shape)), result.dtype)


@lowers("logsumexp")
def logsumexp(result: Result, arg: Node, dims: Any, keepdim: bool = False) -> Node:
    chosen = dims_of(arg, dims)
    value = cast(arg, compute(result.dtype))
    top = fold("max", value, chosen, keepdim=True)
    infinite = point("eq", point("abs", top), constant(top, math.inf), dtype="bool")
    top = point("where", infinite, constant(top, 0.0), top, dtype=top.dtype)
    weight = point("exp", point("sub", value, broadcast(top, value.shape)))
    total = fold("sum", weight, chosen, keepdim=True)
    return _shaped(point("add", point("log", total), top), result)


def _affine(value: Node, weight: Node | None, bias: Node | None) -> Node:
    for op, factor in (("mul", weight), ("add", bias)):
        if factor is not None:
            value = point(op, value, broadcast(cast(factor, value.dtype), value.shape))
    return value


def normalised(value: Node, dims: Sequence[int], eps: float) -> tuple[Node, Node, Node]:
    """Return ((value - mean) / sqrt(variance + eps), mean, 1 / sqrt(...)), the last two with dims
    kept."""
    variance, mean, centred = variance_of(value, dims, 0)
    scale = point("rsqrt", point("add", variance, constant(variance, eps)))
    return point("mul", centred, broadcast(scale, value.shape)), mean, scale


@lowers("layer_norm", "native_layer_norm")
def layer_norm(
    result: Result,
    arg: Node,
    shape: Sequence[int],
    weight: Node | None = None,
    bias: Node | None = None,
    eps: float = 1e-5,
    *_: Any,
) -> Any:
    dims = list(range(len(arg.shape) - len(shape), len(arg.shape)))
    value, mean, scale = normalised(cast(arg, compute(arg.dtype)), dims, eps)
    output = cast(_affine(value, weight, bias), arg.dtype)
    return output if result.operator.startswith("layer") else (output, mean, scale)


@lowers("rms_norm")
def rms_norm(
    result: Result,
    arg: Node,
    shape: Sequence[int],
    weight: Node | None = None,
    eps: float | None = None,
) -> Node:
    dims = list(range(len(arg.shape) - len(shape), len(arg.shape)))
    value = cast(arg, compute(arg.dtype))
    # torch.finfo(float32).eps, which is torch's own default
    eps = 1.1920928955078125e-07 if eps is None else eps
    power = mean_of(point("square", value), dims, keepdim=True)
    scale = point("rsqrt", point("add", power, constant(power, eps)))
    value = point("mul", value, broadcast(scale, value.shape))
    return cast(_affine(value, weight, None), result.dtype)


def _per_channel(factor: Node | None, rank: int) -> Node | None:
    return None if factor is None else reshape(factor, (*factor.shape, *([1] * (rank - 2))))


@lowers("group_norm")
def group_norm(
    result: Result,
    arg: Node,
    groups: int,
    weight: Node | None = None,
    bias: Node | None = None,
    eps: float = 1e-5,
    *_: Any,
) -> Node:
    batch = arg.shape[0]
    value = reshape(
        cast(arg, compute(arg.dtype)), (batch, groups, arg.n_elements // batch // groups)
    )
    value = reshape(normalised(value, [2], eps)[0], arg.shape)
    rank = len(arg.shape)
    value = _affine(value, _per_channel(weight, rank), _per_channel(bias, rank))
    return cast(value, result.dtype)


@lowers("instance_norm")
def instance_norm(
    result: Result,
    arg: Node,
    weight: Node | None,
    bias: Node | None,
    mean: Any,
    var: Any,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    *_: Any,
) -> Node:
    if not use_input_stats or mean is not None:
        raise Unsupported("instance norm with running statistics")
    rank = len(arg.shape)
    value = normalised(cast(arg, compute(arg.dtype)), list(range(2, rank)), eps)[0]
    value = _affine(value, _per_channel(weight, rank), _per_channel(bias, rank))
    return cast(value, result.dtype)


@lowers("_native_batch_norm_legit_functional")
def batch_norm(
    result: Result,
    arg: Node,
    weight: Node | None,
    bias: Node | None,
    running_mean: Node,
    running_var: Node,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Node | None, ...]:
    rank = len(arg.shape)
    value = cast(arg, compute(arg.dtype))
    affine = (_per_channel(weight, rank), _per_channel(bias, rank))
    if not training:
        known = (cast(statistic, value.dtype) for statistic in (running_mean, running_var))
        norm = cast(_inference_norm(value, affine, *known, eps), arg.dtype)
        return norm, None, None, running_mean, running_var
    dims = [0, *range(2, rank)]
    output, mean, scale = normalised(value, dims, eps)
    variance, *_ = variance_of(value, dims, 1)
    channels = (arg.shape[1],)
    new_mean = _moved(running_mean, reshape(mean, channels), momentum)
    new_var = _moved(running_var, reshape(variance, channels), momentum)
    save = (reshape(mean, channels), reshape(scale, channels))
    return (cast(_affine(output, *affine), arg.dtype), *save, new_mean, new_var)


@lowers("_native_batch_norm_legit_no_training")
def batch_norm_in_evaluation(
    result: Result,
    arg: Node,
    weight: Node | None,
    bias: Node | None,
    mean: Node,
    variance: Node,
    momentum: float,
    eps: float,
) -> tuple[Node | None, ...]:
    norm, *_ = batch_norm(result, arg, weight, bias, mean, variance, False, momentum, eps)
    return norm, None, None


def _moved(old: Node, new: Node, momentum: float) -> Node:
    wide = cast(old, new.dtype)
    kept = point("mul", wide, constant(wide, 1.0 - momentum))
    return point("add", kept, point("mul", new, constant(new, momentum)))


def _inference_norm(
    value: Node, affine: tuple[Node | None, Node | None], mean: Node, variance: Node, eps: float
) -> Node:
    rank = len(value.shape)
    scale = point("rsqrt", point("add", variance, constant(variance, eps)))
    mean, scale = (
        broadcast(reshape(p, (*p.shape, *([1] * (rank - 2)))), value.shape) for p in (mean, scale)
    )
    return _affine(point("mul", point("sub", value, mean), scale), *affine)


@lowers("cumsum", "cumprod")
def cumulative(result: Result, arg: Node, dim: int, **_: Any) -> Node:
    if not arg.shape:
        raise Unsupported("the scan of a number")
    value = cast(arg, compute(result.dtype))
    if arg.shape[dim] == 1:
        return cast(value, result.dtype)
    op = result.operator.partition(".")[0].removeprefix("cum")
    scan = Running(result.shape, value.dtype, op, value, dim % len(arg.shape))
    return cast(scan, result.dtype)


@lowers("decaying_sum")
def decaying_sum(result: Result, kept: Node, added: Node) -> Node:
    """Lower a loop over time, the first dimension: see ``capture.loops``."""
    wide = compute(result.dtype)
    factor, value = cast(kept, wide), cast(added, wide)
    return cast(Running(result.shape, wide, "decay", value, 0, factor=factor), result.dtype)
