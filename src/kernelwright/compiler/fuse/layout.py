"""The memory layouts that values take over from those that they are computed from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kernelwright.compiler.fuse.flow import (
    Fold,
    Laid,
    Node,
    Point,
    Product,
    Reshape,
    Source,
    Stretched,
    View,
)
from kernelwright.compiler.ir.ir import Tensor, contiguous


def layout(node: Node, kept: Mapping[Node, Tensor]) -> tuple[int, ...] | None:
    """Return the strides with which ``node`` follows the memory that it is computed from, element
    by element or window by window, if that is not row-major (channels last)."""
    if isinstance(node, Product):
        return _layout_of_convolution(node, kept)
    order = order_of(node, kept, len(node.shape)) if len(node.shape) >= 4 else None
    if order is None:
        return None
    dense = contiguous("", tuple(node.shape[d] for d in order), node.dtype).strides
    return tuple(stride for _, stride in sorted(zip(order, dense, strict=True)))


def _layout_of_convolution(node: Product, kept: Mapping[Node, Tensor]) -> tuple[int, ...] | None:
    """Return strides with the channels last, if the image of a convolution has them last."""
    image = node.a
    while isinstance(image, (View, Reshape, Stretched)) and image not in kept:
        image = image.arg
    rank = len(image.shape)
    order = order_of(image, kept, rank) if is_convolution(node) and rank >= 4 else None
    if order is None or order[-1] != 1 or len(node.shape) != rank + 1:
        return None
    places = [0, *range(3, rank + 1), 1, 2]
    dense = contiguous("", tuple(node.shape[d] for d in places), node.dtype).strides
    return tuple(stride for _, stride in sorted(zip(places, dense, strict=True)))


def is_convolution(node: Product) -> bool:
    """Return whether a product has the dimensions (image, group, channel of the group, *out)."""
    return node.batch == (1,) and node.n == (2,) and node.m == (0, *range(3, len(node.shape)))


def _as_image(node: Node, tensor: Tensor) -> Tensor:
    """Return a convolution's tensor with its groups and their channels as one dimension, if they
    lie as one."""
    if not isinstance(node, Product) or not is_convolution(node):
        return tensor
    (images, groups, columns, *out), (far, group, column, *others) = tensor.shape, tensor.strides
    if groups > 1 and group != columns * column:
        return tensor
    return replace(tensor, shape=(images, groups * columns, *out), strides=(far, column, *others))


def order_of(node: Node, kept: Mapping[Node, Tensor], rank: int) -> list[int] | None:
    """Return the dimensions of the memory under ``node``, the outermost first; None if there is
    none, or it is row-major. A pooled image, and one of several in a row, lie like their images."""
    stack, seen = [node], set[Node]()
    while stack:
        current = stack.pop()
        if current in seen:
            continue
        seen.add(current)
        tensor = current.tensor if isinstance(current, Source) else kept.get(current)
        tensor = None if tensor is None else _as_image(current, tensor)
        if tensor is None:
            stack += [arg for arg in reversed(current.args) if _may_lie_alike(current, arg, rank)]
        elif len(tensor.shape) == rank and is_dense(tensor) and not _is_row_major(tensor):
            return sorted(range(rank), key=lambda d: -tensor.strides[d])
    return None


def _is_row_major(tensor: Tensor) -> bool:
    return tensor.strides == contiguous("", tensor.shape, tensor.dtype).strides


def _may_lie_alike(node: Node, arg: Node, rank: int) -> bool:
    """Return whether ``arg`` has the dimensions of ``node`` first, and those of its windows after
    them, or is the convolution that ``node`` is."""
    if isinstance(arg, Product) and isinstance(node, (View, Reshape)) and is_convolution(arg):
        images, groups, columns, *out = arg.shape
        return node.shape == (images, groups * columns, *out)
    if isinstance(node, View):
        return len(arg.shape) == rank <= len(node.shape) and all(
            any(dim == d for dim, _ in terms) for d, (terms, _) in enumerate(node.rows)
        )
    if isinstance(node, Fold):
        return min(node.dims) >= len(node.shape)
    return isinstance(node, (Point, Laid)) and arg.shape == node.shape


def is_dense(tensor: Tensor) -> bool:
    return sorted(tensor.strides) == sorted(_dense_strides(tensor))


def _dense_strides(tensor: Tensor) -> list[int]:
    """Return the strides of a dense tensor with the same order of dimensions as ``tensor``."""
    order = sorted(range(len(tensor.shape)), key=lambda d: -tensor.strides[d])
    dense = contiguous("", tuple(tensor.shape[d] for d in order), tensor.dtype)
    return list(dense.strides)
