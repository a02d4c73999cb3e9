"""Pooling as reductions over the positions of a window."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from kernelwright.compiler.fuse.flow import Node, Row, Unsupported, View, fold, row
from kernelwright.compiler.lower.reductions import compute
from kernelwright.compiler.lower.table import Result, cast, constant, lowers, point


def windows(
    arg: Node,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    *,
    dilation: Sequence[int],
    out: Sequence[int],
    fill: float,
) -> Node:
    """Return the windows over the last dimensions: (..., *out, *kernel), with ``fill`` outside
    ``arg``."""
    rank, spatial = len(arg.shape), len(kernel)
    first = rank - spatial
    rows: list[Row] = [row(d) for d in range(first)]
    checked = []
    for d in range(spatial):
        terms = ((first + d, stride[d]), (rank + d, dilation[d]))
        rows.append((terms, -padding[d]))
        last = (out[d] - 1) * stride[d] + (kernel[d] - 1) * dilation[d] - padding[d]
        if padding[d] > 0 or last >= arg.shape[first + d]:
            checked.append(first + d)
    shape = (*arg.shape[:first], *out, *kernel)
    return View(shape, arg.dtype, arg, tuple(rows), tuple(checked), fill)


def spread(value: Any, n: int) -> list[int]:
    """Return an ATen size argument (empty, one number, or one per dimension) as one number per
    dimension."""
    given = [value] if isinstance(value, int) else list(value)
    return given * n if len(given) == 1 else given


def _window_dims(result: Result, spatial: int) -> list[int]:
    return list(range(len(result.shape), len(result.shape) + spatial))


@lowers(
    "max_pool1d", "max_pool2d", "max_pool3d", "max_pool2d_with_indices", "max_pool3d_with_indices"
)
def max_pool(
    result: Result,
    arg: Node,
    kernel: Any,
    stride: Any = (),
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
) -> Any:
    spatial = int(result.operator[len("max_pool")])
    size = spread(kernel, spatial)
    steps = spread(stride, spatial) if stride else size
    pads, dilations = spread(padding, spatial), spread(dilation, spatial)
    out = result.shape[-spatial:]
    view = windows(arg, size, steps, pads, dilation=dilations, out=out, fill=-math.inf)
    pooled = fold("max", view, _window_dims(result, spatial))
    return (pooled, None) if "indices" in result.operator else pooled


@lowers("avg_pool1d", "avg_pool2d", "avg_pool3d")
def avg_pool(
    result: Result,
    arg: Node,
    kernel: Any,
    stride: Any = (),
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Node:
    spatial = int(result.operator[len("avg_pool")])
    size, pads = spread(kernel, spatial), spread(padding, spatial)
    if ceil_mode or (any(pads) and not count_include_pad):
        raise Unsupported("average pooling with windows of different sizes")
    steps = spread(stride, spatial) if stride else size
    value, out = cast(arg, compute(arg.dtype)), result.shape[-spatial:]
    view = windows(value, size, steps, pads, dilation=[1] * spatial, out=out, fill=0.0)
    total = fold("sum", view, _window_dims(result, spatial))
    divisor = float(divisor_override or math.prod(size))
    return cast(point("div", total, constant(total, divisor)), result.dtype)


@lowers(
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "_adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "_adaptive_avg_pool3d",
)
def adaptive_avg_pool(result: Result, arg: Node, size: Any) -> Node:
    spatial = int(result.operator.lstrip("_")[len("adaptive_avg_pool")])
    ratios = [i / o for i, o in zip(arg.shape[-spatial:], result.shape[-spatial:], strict=True)]
    if any(ratio != int(ratio) for ratio in ratios):
        raise Unsupported("adaptive pooling with windows of different sizes")
    return avg_pool(
        Result(result.shape, result.dtype, f"avg_pool{spatial}d"), arg, [int(r) for r in ratios]
    )
