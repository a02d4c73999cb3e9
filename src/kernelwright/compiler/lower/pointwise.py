"""Pointwise operators."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND as KIND
from torch._prims_common import elementwise_dtypes

from kernelwright.compiler.fuse.flow import (
    Constant,
    Laid,
    Node,
    Position,
    Source,
    Unsupported,
)
from kernelwright.compiler.ir.interpret import dtype_name
from kernelwright.compiler.ir.ir import NARROW
from kernelwright.compiler.lower.table import (
    Result,
    cast,
    constant,
    lowers,
    operand,
    point,
)

_BINARY = {
    "add": "add", "sub": "sub", "mul": "mul", "maximum": "maximum", "minimum": "minimum",
    "fmod": "fmod", "bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor",
}  # fmt: skip
_COMPARISONS = {name: name for name in ("lt", "le", "gt", "ge", "eq", "ne")}
_UNARY = {"neg": "neg", "abs": "abs", "sign": "sign", "relu": "relu", "square": "square"}
_ROUNDING = {name: name for name in ("floor", "ceil", "round", "trunc")}
_FLOAT_UNARY = {
    name: name
    for name in (
        "exp",
        "expm1",
        "log",
        "log1p",
        "log2",
        "sqrt",
        "rsqrt",
        "reciprocal",
        "sin",
        "cos",
        "tanh",
        "sigmoid",
        "erf",
    )
}


def promoted(*values: Any, kind: KIND = KIND.DEFAULT) -> str:
    """Return the dtype in which torch computes an operator on these nodes and numbers."""
    samples = [
        torch.empty([1] * min(len(v.shape), 1), dtype=getattr(torch, v.dtype), device="meta")
        if isinstance(v, Node)
        else v
        for v in values
        if v is not None
    ]
    return dtype_name(elementwise_dtypes(*samples, type_promotion_kind=kind)[0])


def _finished(node: Node, result: Result) -> Node:
    return cast(node, result.dtype)


@lowers(*_BINARY)
def binary(result: Result, a: Any, b: Any, *, alpha: float = 1) -> Node:
    dtype = promoted(a, b)
    left, right = operand(a, result, dtype), operand(b, result, dtype)
    if alpha != 1:
        right = point("mul", right, operand(alpha, result, dtype))
    op = _BINARY[result.operator.partition(".")[0]]
    return _finished(point(op, left, right), result)


@lowers("__rshift__", "bitwise_right_shift")
def rshift(result: Result, a: Any, b: Any) -> Node:
    n_bits = torch.iinfo(getattr(torch, result.dtype)).bits if "int" in result.dtype else 0
    if not isinstance(b, int) or not 0 <= b < n_bits:
        raise Unsupported("a shift that is no constant, or by all bits")
    return point("rshift", operand(a, result, result.dtype), operand(b, result, result.dtype))


@lowers("rsub")
def rsub(result: Result, a: Any, b: Any, alpha: float = 1) -> Node:
    dtype = promoted(a, b)
    left = operand(a, result, dtype)
    if alpha != 1:
        left = point("mul", left, operand(alpha, result, dtype))
    return _finished(point("sub", operand(b, result, dtype), left), result)


@lowers("div", "true_divide")
def div(result: Result, a: Any, b: Any, *, rounding_mode: str | None = None) -> Node:
    kind = KIND.DEFAULT if rounding_mode else KIND.INT_TO_FLOAT
    dtype = promoted(a, b, kind=kind)
    if rounding_mode and "float" not in dtype:
        is_shift = rounding_mode == "floor" and isinstance(b, int) and b > 0 and not b & (b - 1)
        if not is_shift or b > torch.iinfo(getattr(torch, dtype)).max:  # torch wraps it around
            raise Unsupported("integer division, but by a power of two")
        return rshift(result, a, b.bit_length() - 1)
    quotient = point("div", operand(a, result, dtype), operand(b, result, dtype))
    if rounding_mode:
        quotient = point(rounding_mode, quotient)
    return _finished(quotient, result)


@lowers("atan2")
def atan2(result: Result, a: Any, b: Any) -> Node:
    dtype = promoted(a, b, kind=KIND.INT_TO_FLOAT)
    return _finished(point("atan2", operand(a, result, dtype), operand(b, result, dtype)), result)


@lowers(*_COMPARISONS)
def comparison(result: Result, a: Any, b: Any) -> Node:
    dtype = promoted(a, b)
    op = _COMPARISONS[result.operator.partition(".")[0]]
    return point(op, operand(a, result, dtype), operand(b, result, dtype), dtype="bool")


@lowers("logical_and", "logical_or", "logical_xor")
def logical(result: Result, a: Node, b: Node) -> Node:
    op = result.operator.partition(".")[0].removeprefix("logical_")
    return point(op, operand(a, result, "bool"), operand(b, result, "bool"), dtype="bool")


@lowers("logical_not", "bitwise_not")
def logical_not(result: Result, a: Node) -> Node:
    if result.dtype != "bool":
        raise Unsupported("bitwise complement of integers")
    return point("not", cast(a, "bool"), dtype="bool")


@lowers(*_UNARY)
def unary(result: Result, a: Node) -> Node:
    return point(_UNARY[result.operator.partition(".")[0]], a)


@lowers(*_ROUNDING)
def rounding(result: Result, a: Node, **options: Any) -> Node:
    if options or "float" not in a.dtype:
        raise Unsupported("rounding to decimals, or of integers")
    return point(result.operator.partition(".")[0], a)


@lowers(*_FLOAT_UNARY)
def float_unary(result: Result, a: Node) -> Node:
    dtype = promoted(a, kind=KIND.INT_TO_FLOAT)
    op = _FLOAT_UNARY[result.operator.partition(".")[0]]
    return _finished(point(op, cast(a, dtype)), result)


@lowers("isnan", "isinf")
def classification(result: Result, a: Node) -> Node:
    return point(result.operator.partition(".")[0], a, dtype="bool")


@lowers("pow")
def power(result: Result, a: Any, b: Any) -> Node:
    dtype = promoted(a, b)
    if "float" not in dtype:
        raise Unsupported("integer powers")
    base = operand(a, result, dtype)
    if isinstance(b, (int, float)):
        return _finished(_fixed_power(base, float(b)), result)
    return _finished(point("pow", base, operand(b, result, dtype)), result)


def _fixed_power(base: Node, exponent: float) -> Node:
    """Lower fixed powers as torch's own special cases (aten/src/ATen/native/cpu/PowKernel.cpp)."""
    special = {
        1.0: (),
        2.0: ("square",),
        0.5: ("sqrt",),
        -0.5: ("rsqrt",),
        -1.0: ("reciprocal",),
        -2.0: ("square", "reciprocal"),
    }
    if exponent == 3.0:
        return point("mul", base, point("square", base))
    if exponent in special:
        for op in special[exponent]:
            base = point(op, base)
        return base
    return point("pow", base, constant(base, exponent))


@lowers("where")
def where(result: Result, condition: Node, a: Any, b: Any) -> Node:
    dtype = promoted(a, b)
    mask = operand(condition, result, "bool")
    chosen = point("where", mask, operand(a, result, dtype), operand(b, result, dtype), dtype=dtype)
    return _finished(chosen, result)


@lowers("masked_fill")
def masked_fill(result: Result, a: Node, mask: Node, value: Any) -> Node:
    dtype = _compute(result.dtype)
    picks = operand(mask, result, "bool"), operand(value, result, dtype), operand(a, result, dtype)
    return _finished(point("where", *picks, dtype=dtype), result)


@lowers("clamp", "clamp_min", "clamp_max", "hardtanh")
def clamp(result: Result, a: Node, *limits: Any, **named: Any) -> Node:
    low, high = _limits(result.operator.partition(".")[0], limits, named)
    dtype = promoted(a, low, high)
    value = operand(a, result, dtype)
    if low is not None:
        value = point("maximum", value, operand(low, result, dtype))
    if high is not None:
        value = point("minimum", value, operand(high, result, dtype))
    return _finished(value, result)


def _limits(operator: str, limits: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, Any]:
    if operator == "hardtanh":
        given = dict(zip(("min_val", "max_val"), limits, strict=False)) | named
        return given.get("min_val", -1.0), given.get("max_val", 1.0)
    first = "max" if operator == "clamp_max" else "min"
    given = dict(zip((first, "max"), limits, strict=False)) | named
    return given.get("min"), given.get("max")


@lowers("contiguous")
def contiguous(result: Result, a: Node, *, memory_format: Any = torch.contiguous_format) -> Node:
    """Return the value in another layout; the argument itself if the layout makes no difference."""
    laid = laid_out(result.shape, memory_format)
    is_so = isinstance(a, Source) and a.tensor.strides == laid
    plain = laid_out(result.shape, torch.contiguous_format)
    if is_so or (laid == plain and not isinstance(a, Source)):
        return a
    return Laid(a.shape, a.dtype, a, laid)


def laid_out(shape: tuple[int, ...], memory_format: Any) -> tuple[int, ...]:
    """Return the strides of a tensor of ``shape`` in ``memory_format``."""
    return tuple(torch.empty(shape, device="meta", memory_format=memory_format).stride())


@lowers("_to_copy", "to", "_conj", "clone", "alias", "detach", "lift_fresh_copy")
def copy(result: Result, a: Node, *_: Any, **options: Any) -> Node:
    """Lower a copy, which is an ordinary value: it is stored only if it is needed in memory."""
    if options.get("device") is not None and str(options["device"]) == "meta":
        raise Unsupported("meta tensors")
    if options.get("memory_format") in (torch.channels_last, torch.channels_last_3d):
        raise Unsupported("another layout in memory")
    return cast(a, result.dtype)


@lowers("leaky_relu")
def leaky_relu(result: Result, a: Node, slope: float = 0.01) -> Node:
    x = cast(a, _compute(a.dtype))
    scaled = point("mul", x, constant(x, slope))
    return _finished(point("where", _positive(x), x, scaled, dtype=x.dtype), result)


def _positive(x: Node) -> Node:
    return point("gt", x, constant(x, 0.0), dtype="bool")


@lowers("gelu")
def gelu(result: Result, a: Node, approximate: str = "none") -> Node:
    x = cast(a, _compute(a.dtype))
    if approximate == "none":
        cdf = point("erf", point("mul", x, constant(x, math.sqrt(0.5))))
    else:
        cubic = point("mul", point("mul", x, point("square", x)), constant(x, 0.044715))
        slope = constant(x, math.sqrt(2 / math.pi))
        cdf = point("tanh", point("mul", point("add", x, cubic), slope))
    half = point("mul", x, constant(x, 0.5))
    return _finished(point("mul", half, point("add", cdf, constant(x, 1.0))), result)


@lowers("silu")
def silu(result: Result, a: Node) -> Node:
    x = cast(a, _compute(a.dtype))
    return _finished(point("mul", x, point("sigmoid", x)), result)


@lowers("softplus")
def softplus(result: Result, a: Node, beta: float = 1, threshold: float = 20) -> Node:
    x = cast(a, _compute(a.dtype))
    scaled = point("mul", x, constant(x, float(beta))) if beta != 1 else x
    soft = point("log1p", point("exp", scaled))
    soft = point("div", soft, constant(x, float(beta))) if beta != 1 else soft
    linear = point("gt", scaled, constant(x, float(threshold)), dtype="bool")
    return _finished(point("where", linear, x, soft, dtype=x.dtype), result)


@lowers("mish")
def mish(result: Result, a: Node) -> Node:
    """Lower x * tanh(log1p(exp(x))) = x * n / (n + 2) with n = e * (e + 2), e = exp(x): one exp.

    For x > 20, tanh(softplus(x)) rounds to 1 in float32, so exp is computed of 20 at most.
    """
    x = cast(a, _compute(a.dtype))
    e = point("exp", point("minimum", x, constant(x, 20.0)))
    n = point("mul", e, point("add", e, constant(x, 2.0)))
    ratio = point("div", n, point("add", n, constant(x, 2.0)))
    return _finished(point("mul", x, ratio), result)


@lowers("elu")
def elu(result: Result, a: Node, alpha: float = 1, scale: float = 1, slope: float = 1) -> Node:
    x = cast(a, _compute(a.dtype))
    inner = point("mul", x, constant(x, float(slope))) if slope != 1 else x
    low = point("mul", point("expm1", inner), constant(x, float(alpha * scale)))
    high = point("mul", x, constant(x, float(scale))) if scale != 1 else x
    return _finished(point("where", _positive(x), high, low, dtype=x.dtype), result)


@lowers("hardsigmoid", "hardswish")
def hard_gate(result: Result, a: Node) -> Node:
    x = cast(a, _compute(a.dtype))
    shifted = point("add", x, constant(x, 3.0))
    gate = point("minimum", point("maximum", shifted, constant(x, 0.0)), constant(x, 6.0))
    if result.operator.startswith("hardswish"):
        gate = point("mul", x, gate)
    return _finished(point("div", gate, constant(x, 6.0)), result)


@lowers("log_sigmoid_forward")
def log_sigmoid(result: Result, a: Node) -> tuple[Node, None]:
    x = cast(a, _compute(a.dtype))
    low = point("minimum", x, constant(x, 0.0))
    tail = point("log1p", point("exp", point("neg", point("abs", x))))
    return _finished(point("sub", low, tail), result), None


@lowers(
    "scalar_tensor",
    "full",
    "full_like",
    "zeros",
    "ones",
    "zeros_like",
    "ones_like",
    "new_full",
    "new_zeros",
    "new_ones",
)
def filled(result: Result, *args: Any, **_: Any) -> Node:
    operator = result.operator.partition(".")[0]
    value = (
        args[-1] if "full" in operator or operator == "scalar_tensor" else float("one" in operator)
    )
    if isinstance(value, Node) or result.dtype in ("complex64", "complex128"):
        raise Unsupported("fill with a tensor")
    number = operand(value, result, "float32" if result.dtype in NARROW else result.dtype)
    assert isinstance(number, Constant)
    return Constant(result.shape, result.dtype, number.value)


@lowers("arange")
def arange(result: Result, *args: Any, **_: Any) -> Node:
    start, step = (args[0] if len(args) > 1 else 0), (args[2] if len(args) > 2 else 1)
    value: Node = Position(result.shape, "int64", 0)
    dtype = result.dtype if "float" in result.dtype else "int64"
    value = cast(value, dtype)
    if step != 1:
        value = point("mul", value, constant(value, step))
    if start != 0:
        value = point("add", value, constant(value, start))
    return _finished(value, result)


def _compute(dtype: str) -> str:
    return "float32" if dtype in NARROW else dtype
