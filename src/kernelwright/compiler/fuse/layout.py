"""The memory layouts that values take over from those that they are computed from."""

from __future__ import annotations

from collections.abc import Mapping

from kernelwright.compiler.fuse.flow import Fold, Laid, Node, Point, Source, View
from kernelwright.compiler.ir.ir import Tensor, contiguous


def layout(node: Node, kept: Mapping[Node, Tensor]) -> tuple[int, ...] | None:
    """Return the strides with which ``node`` follows the memory that it is computed from, element
    by element or window by window, if that is not row-major (channels last)."""
    order = order_of(node, kept, len(node.shape)) if len(node.shape) >= 4 else None
    if order is None:
        return None
    dense = contiguous("", tuple(node.shape[d] for d in order), node.dtype).strides
    return tuple(stride for _, stride in sorted(zip(order, dense, strict=True)))


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
        if tensor is None:
            stack += [arg for arg in reversed(current.args) if _may_lie_alike(current, arg, rank)]
        elif len(tensor.shape) == rank and is_dense(tensor) and not _is_row_major(tensor):
            return sorted(range(rank), key=lambda d: -tensor.strides[d])
    return None


def _is_row_major(tensor: Tensor) -> bool:
    return tensor.strides == contiguous("", tensor.shape, tensor.dtype).strides


def _may_lie_alike(node: Node, arg: Node, rank: int) -> bool:
    """Return whether ``arg`` has the dimensions of ``node`` first, and those of its windows after
    them."""
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
