"""Matrix products and convolutions as own code, where an emitter asks for them.

This table is separate from the other one because a product is own code only in some program
variants.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from kernelwright.compiler.fuse.flow import (
    Fold,
    Gather,
    Node,
    Point,
    Product,
    Row,
    Running,
    Stored,
    Stretched,
    Unsupported,
    View,
    broadcast,
    fixed,
    fold,
    permute,
    reshape,
    row,
    walk,
)
from kernelwright.compiler.fuse.layout import order_of
from kernelwright.compiler.ir.ir import contiguous
from kernelwright.compiler.lower.reductions import compute
from kernelwright.compiler.lower.table import Handler, Result, cast, point
from kernelwright.compiler.lower.windows import spread, windows

PRODUCTS: dict[str, Handler] = {}
NARROW, FEW_CHANNELS, LEAST_ROWS = 32, 4, 8448
"""Output channels up to which a convolution with channels last is own code where others are the
library's, input channels up to which memory bounds it, and least number of results of a channel.
From 96 channels to 32, an own kernel that also adds up its rows took 0.63 of the library's time on
an H200, and from 64 to 64 1.5 times as long (10 images of 224 by 224, 3 by 3 taps). So many rows
are tiles for half of its processors."""
THIN = 4
"""The most rows of an operand for which the other one is computed where it is used, again for every
row: unpacked int4 weights, or the weights of chosen experts. With more rows it is kept in memory
first."""


def _product(*operators: str) -> Any:
    def register(handler: Handler) -> Handler:
        PRODUCTS.update(dict.fromkeys(operators, handler))
        return handler

    return register


def contract(a: Node, b: Node) -> Node:
    """Return ``a @ b`` for (..., m, k) and (..., k, n) with broadcasting over the leading
    dimensions."""
    if len(a.shape) < 2 or len(b.shape) < 2 or "float" not in a.dtype:
        raise Unsupported("a product with a vector, or of integers")
    rank = max(len(a.shape), len(b.shape))
    wide_a, wide_b = ((1,) * (rank - len(x.shape)) + x.shape for x in (a, b))
    lead = tuple(max(x, y) for x, y in zip(wide_a[:-2], wide_b[:-2], strict=True))
    shape = (*lead, wide_a[-2], wide_b[-1])
    inner = wide_a[-1]
    common = (*shape, inner)

    def view(arg: Node, wide: tuple[int, ...], last: Sequence[int]) -> Node:
        places = [*range(rank - 2), *last]
        rows = [fixed(0) if n == 1 else row(place) for n, place in zip(wide, places, strict=True)]
        return View(common, arg.dtype, arg, tuple(rows[rank - len(arg.shape) :]))

    both = [d for d in range(rank - 2) if wide_a[d] > 1 and wide_b[d] > 1]
    only_a = [d for d in range(rank - 2) if wide_b[d] == 1]
    only_b = [d for d in range(rank - 2) if d not in (*both, *only_a)]
    left, right = view(a, wide_a, [rank - 2, rank]), view(b, wide_b, [rank, rank - 1])
    m, n = (*only_a, rank - 2), (*only_b, rank - 1)
    wide = compute(a.dtype)
    if (_is_thin(shape, m) and _is_computed(b)) or (_is_thin(shape, n) and _is_computed(a)):
        return fold("sum", point("mul", cast(left, wide), cast(right, wide)), [rank])
    return Product(shape, wide, left, right, (inner,), tuple(both), m, n)


def _is_thin(shape: Sequence[int], dims: Sequence[int]) -> bool:
    return math.prod(shape[d] for d in dims) <= THIN


def _is_computed(node: Node) -> bool:
    """Whether an operand is in memory in another form only, and no product or reduction gives all
    of it: that one's kernel could store it as it is read here."""
    under = list(walk([node]))
    return any(isinstance(each, (Point, Gather)) for each in under) and not any(
        isinstance(each, (Product, Fold, Running)) and each.n_elements >= node.n_elements
        for each in under
    )


def _with_bias(value: Node, bias: Node | None, result: Result, shape: Sequence[int]) -> Node:
    if bias is not None:
        value = point(
            "add", value, broadcast(reshape(cast(bias, value.dtype), tuple(shape)), value.shape)
        )
    return cast(value, result.dtype)


@_product("linear")
def linear(result: Result, x: Node, weight: Node, bias: Node | None = None) -> Node:
    if len(weight.shape) != 2:
        raise Unsupported("linear with a vector of weights")
    return _with_bias(contract(x, permute(weight, [1, 0])), bias, result, weight.shape[:1])


@_product("matmul", "mm", "bmm")
def matmul(result: Result, a: Node, b: Node) -> Node:
    return cast(contract(a, b), result.dtype)


@_product("_scaled_mm")
def scaled(result: Result, a: Node, b: Node, *scales: Any, **_: Any) -> Node:
    """Lower a product of float8 with a scale for each operand, or each row and column of it."""
    rows, columns, bias, scale_result, *_rest = (*scales, None, None)
    sides = ((rows, (a.shape[0], 1)), (columns, (1, b.shape[1])))
    if scale_result is not None or any(s.n_elements > 1 and s.shape != shape for s, shape in sides):
        raise Unsupported("scales of blocks, or of the result")
    value = contract(a, b)
    for scale, shape in sides:
        whole = reshape(scale, shape if scale.n_elements > 1 else (1, 1))
        value = point("mul", value, broadcast(cast(whole, value.dtype), value.shape))
    return _with_bias(value, bias, result, (1, b.shape[1]))


@_product("_grouped_mm")
def grouped(
    result: Result,
    x: Node,
    weights: Node,
    ends: Node | None = None,
    bias: Node | None = None,
    out_dtype: Any = None,
) -> Node:
    """Lower products of groups of rows, each with a matrix of its own."""
    is_rows = ends is not None and (len(x.shape), len(weights.shape)) == (2, 3)
    if not is_rows or bias is not None or ends is None or ends.dtype != "int32":
        raise Unsupported("groups of other dimensions than rows, or with a bias")
    m, k = x.shape
    space = (m, weights.shape[2], k)
    a = View(space, x.dtype, x, (row(0), row(2)))
    b = View(space, weights.dtype, weights, (fixed(0), row(2), row(1)))
    value = Product(space[:2], compute(x.dtype), a, b, (k,), (), (0,), (1,), ends=ends)
    return cast(value, result.dtype)


@_product("addmm", "baddbmm")
def addmm(
    result: Result, bias: Node, a: Node, b: Node, *, beta: float = 1, alpha: float = 1
) -> Node:
    if beta != 1 or alpha != 1:
        raise Unsupported("a scaled product")
    value = contract(a, b)
    return cast(point("add", value, broadcast(cast(bias, value.dtype), value.shape)), result.dtype)


@_product("conv1d", "conv2d", "conv3d")
def conv(
    result: Result,
    x: Node,
    weight: Node,
    bias: Node | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Node:
    """Lower a convolution: windows of the padded image times the weights. One channel per group is
    a plain reduction."""
    spatial = len(weight.shape) - 2
    if isinstance(padding, str) or len(x.shape) != spatial + 2:
        raise Unsupported("padding by name, or an image without a batch")
    kernel, out = weight.shape[2:], result.shape[2:]
    steps, pads, gaps = (spread(v, spatial) for v in (stride, padding, dilation))
    view = windows(x, kernel, steps, pads, dilation=gaps, out=out, fill=0.0)
    if _is_depthwise(x, weight, groups):
        value = _depthwise(view, weight, spatial)
    else:
        value = _dense(result, view, weight, groups)
    return _with_bias(value, bias, result, (weight.shape[0], *[1] * spatial))


def _is_depthwise(x: Node, weight: Node, groups: int) -> bool:
    return groups == x.shape[1] == weight.shape[0] and weight.shape[1] == 1


def _conv_without_products(
    result: Result, x: Node, weight: Node, bias: Node | None = None, *rest: Any
) -> Node:
    groups = rest[3] if len(rest) > 3 else 1
    if not _is_depthwise(x, weight, groups):
        raise Unsupported("a convolution that sums over channels")
    return conv(result, x, weight, bias, *rest)


_CONVOLUTIONS = ("conv1d", "conv2d", "conv3d")
DEPTHWISE: dict[str, Handler] = dict.fromkeys(_CONVOLUTIONS, _conv_without_products)
"""Convolutions that are no products: a channel's result needs this channel alone."""


def is_narrow(image: Sequence[int], weight: Sequence[int], out: Sequence[int], dtype: str) -> bool:
    """Return whether the library is slow at a convolution of one group with these shapes."""
    is_whole = image[1] == weight[1] and dtype == "float32"
    n_rows = out[0] * math.prod(out[2:])
    is_few = THIN < weight[0] <= NARROW or (weight[1] <= FEW_CHANNELS and weight[0] > THIN)
    return is_whole and is_few and n_rows >= LEAST_ROWS


def _narrow_conv(
    result: Result, x: Node, weight: Node, bias: Node | None = None, *rest: Any
) -> Node:
    if not is_narrow(x.shape, weight.shape, result.shape, x.dtype):
        raise Unsupported("a convolution at which the library is fast")
    return conv(result, x, weight, bias, *rest)


NARROW_ONES: dict[str, Handler] = dict.fromkeys(_CONVOLUTIONS, _narrow_conv)
"""Convolutions at which the library is slow."""


def _channels_innermost(weight: Node) -> Node:
    """Return a depthwise convolution's weights laid out so that neighbouring threads, which have
    neighbouring channels of an image with channels last, read neighbouring values."""
    channels, *others = weight.shape
    inner = contiguous("", tuple(others), weight.dtype).strides
    strides = (1, *(channels * stride for stride in inner))
    return Stored(weight.shape, weight.dtype, weight, strides)


def _depthwise(view: View, weight: Node, spatial: int) -> Node:
    """Return (n, c, *out, *kernel) times (c, 1, *kernel), summed over the kernel."""
    rank = len(view.shape)
    kernel_dims = range(rank - spatial, rank)
    rows: list[Row] = [row(1), fixed(0), *(row(d) for d in kernel_dims)]
    if order_of(view.arg, {}, len(weight.shape)) is not None:
        weight = _channels_innermost(weight)
    factor = View(view.shape, weight.dtype, weight, tuple(rows))
    product = point("mul", cast(view, compute(view.dtype)), cast(factor, compute(view.dtype)))
    return fold("sum", product, list(kernel_dims))


def _space(result: Result, groups: int, folded: tuple[int, ...]) -> tuple[int, ...]:
    """Return the space of a convolution's products: (image, group, output channel of the group,
    *out, input channel of the group, *kernel)."""
    images, channels, *out = result.shape
    return (images, groups, channels // groups, *out, *folded)


def _part(size: int, inner: int) -> Row:
    """Return the row that maps group and number ``inner`` within it to a channel; a group has
    ``size``."""
    return (((1, size), (inner, 1)), 0)


def _dense(result: Result, view: Node, weight: Node, groups: int) -> Node:
    """Return the product with rows (image, *out), output channels as columns, and (channel,
    *kernel) folded."""
    folded = weight.shape[1:]
    spatial = len(folded) - 1
    common, rank = _space(result, groups, folded), spatial + 3
    kernel = [row(rank + 1 + d) for d in range(spatial)]
    out = [row(3 + d) for d in range(spatial)]
    a = View(common, view.dtype, view, (row(0), _part(folded[0], rank), *out, *kernel))
    columns = common[2]
    b = View(common, weight.dtype, weight, (_part(columns, 2), row(rank), *kernel))
    return _convolved(result, a, b, folded)


def _convolved(result: Result, a: Node, b: Node, folded: tuple[int, ...]) -> Node:
    """Return the products of ``a`` and ``b`` in one space, summed over ``folded``."""
    shape = a.shape[: len(a.shape) - len(folded)]
    m, is_single = (0, *range(3, len(shape))), a.dtype == "float32"
    value = Product(shape, compute(a.dtype), a, b, folded, (1,), m, (2,), tf32=is_single)
    return reshape(value, result.shape)


@_product("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
def conv_transpose(
    result: Result,
    x: Node,
    weight: Node,
    bias: Node | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Node:
    """Lower a transposed convolution: the image's values that contribute to each output, times
    their weights."""
    spatial = len(weight.shape) - 2
    channels, columns, *kernel = weight.shape
    if len(x.shape) != spatial + 2 or x.dtype != "float32":
        raise Unsupported("a transposed convolution without a batch, or not in float32")
    if 1 in (*kernel, *result.shape[2:]):
        raise Unsupported("a transposed convolution with a dimension of one")
    folded = (channels // groups, *kernel)
    common, rank = _space(result, groups, folded), spatial + 3
    a = Stretched(
        common, x.dtype, x, *(tuple(spread(v, spatial)) for v in (stride, padding, dilation))
    )
    taps = [row(rank + 1 + d) for d in range(spatial)]
    b = View(common, weight.dtype, weight, (_part(folded[0], rank), row(2), *taps))
    value = _convolved(result, a, b, folded)
    return _with_bias(value, bias, result, (groups * columns, *[1] * spatial))
