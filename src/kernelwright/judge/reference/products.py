"""Convolutions in float64 on a GPU as products of matrices, because the library has no quick ones.

On an H200 cuDNN's transposed convolutions in float64 came to 0.1 to 4 TFLOP/s, ordinary ones to 6
to 15; products of matrices come to 40 and more. The results differ by rounding in float64 only.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from kernelwright.loaders.quiet_mode import QuietMode

MOST_BYTES = 1 << 29
"""Bytes that a product reads or writes at a time besides the convolution's own tensors."""
FEWEST_CHANNELS = 16
"""Channels from which products pay for an ordinary convolution: with 3 the library is as quick on
an H200."""


class ConvolutionsByProducts(QuietMode):
    """While it is entered, convolutions in float64 are products, where that is known to pay."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if func is torch.ops.aten.convolution.default and not kwargs:
            found = convolve(*args)
            if found is not None:
                return found
        return func(*args, **(kwargs or {}))


def quick_convolutions(device: str) -> AbstractContextManager[Any]:
    """The mode where it pays: on a GPU."""
    return ConvolutionsByProducts() if torch.device(device).type == "cuda" else nullcontext()


def convolve(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None, *how: Any
) -> torch.Tensor | None:
    """``aten.convolution`` by products; None where the library's is as good.

    Shapes:
        x: (n, channels, *size) or without n; the rest as ``torch.ops.aten.convolution`` has it.
    """
    stride, padding, dilation, is_transposed, output_padding, groups = how
    n_axes = weight.dim() - 2
    if x.dtype is not torch.float64 or x.dim() != n_axes + 2 or not x.numel():
        return None
    if not is_transposed and (groups > 1 or x.shape[1] < FEWEST_CHANNELS):
        return None
    axes = [_each(given, n_axes) for given in (stride, padding, dilation, output_padding)]
    rows = [_Axis(*one) for one in zip(x.shape[2:], weight.shape[2:], *axes, strict=True)]
    out = _transposed(x, weight, rows, groups) if is_transposed else _ordinary(x, weight, rows)
    return out if bias is None else out.add_(bias.view(-1, *[1] * n_axes))


class _Axis:
    """One axis of a convolution: its sizes, and where a place of the kernel reads or writes."""

    def __init__(
        self, size: int, kernel: int, stride: int, padding: int, dilation: int, extra: int
    ) -> None:
        self.size, self.kernel, self.stride = size, kernel, stride
        self.padding, self.dilation = padding, dilation
        self.spread = dilation * (kernel - 1) + 1
        self.n_ordinary = (size + 2 * padding - self.spread) // stride + 1
        self.n_transposed = (size - 1) * stride - 2 * padding + self.spread + extra

    def ranges(self, place: int) -> tuple[slice, slice]:
        """The part of a transposed convolution's input that reaches its output, and where."""
        shift = place * self.dilation - self.padding
        first = max(0, -(shift // self.stride))
        last = min(self.size - 1, (self.n_transposed - 1 - shift) // self.stride)
        start = first * self.stride + shift
        end = last * self.stride + shift + 1
        return slice(first, max(first, last + 1)), slice(start, max(start, end), self.stride)


def _each(given: Sequence[int], n_axes: int) -> list[int]:
    return list(given) * n_axes if len(given) == 1 else list(given)


def _transposed(
    x: torch.Tensor, weight: torch.Tensor, axes: list[_Axis], groups: int
) -> torch.Tensor:
    """Add one product for every place of the kernel."""
    n_out = weight.shape[1] * groups
    out = x.new_zeros(x.shape[0], n_out, *(axis.n_transposed for axis in axes))
    factors = weight.unflatten(0, (groups, -1)).transpose(1, 2)
    for few, target in _batches(x, out, n_out * math.prod(x.shape[2:])):
        given = few.flatten(2).unflatten(1, (groups, -1))
        for place in itertools.product(*(range(axis.kernel) for axis in axes)):
            factor = factors[..., *place].contiguous()  # else copied for each of the batch
            part = torch.matmul(factor, given).view(-1, n_out, *few.shape[2:])
            read, written = zip(*map(_Axis.ranges, axes, place), strict=True)
            target[..., *written].add_(part[..., *read])
    return out


def _ordinary(x: torch.Tensor, weight: torch.Tensor, axes: list[_Axis]) -> torch.Tensor:
    """The windows of an image as columns, by the kernel as rows."""
    n_axes = len(axes)
    sides = [axis.padding for axis in reversed(axes) for _ in range(2)]
    windows = torch.nn.functional.pad(x, sides) if any(sides) else x
    for number, axis in enumerate(axes, 2):
        windows = windows.unfold(number, axis.spread, axis.stride)[..., :: axis.dilation]
    out = x.new_empty(x.shape[0], weight.shape[0], *(axis.n_ordinary for axis in axes))
    kernel = weight.flatten(1)
    ends, starts = tuple(range(-n_axes, 0)), tuple(range(2, 2 + n_axes))
    per_row = kernel.shape[1] * math.prod(out.shape[3:])
    for few, target in _batches(windows, out, per_row * out.shape[2]):
        n_parts = max(1, -(-8 * per_row * out.shape[2] // MOST_BYTES))
        parts = zip(few.chunk(n_parts, 2), target.chunk(n_parts, 2), strict=True)
        for part, result in parts:
            columns = part.movedim(ends, starts)
            columns = columns.reshape(len(part), kernel.shape[1], -1)
            result.copy_(torch.matmul(kernel, columns).view_as(result))
    return out


def _batches(
    x: torch.Tensor, out: torch.Tensor, n_numbers: int
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """``x`` and ``out``, cut alike so that MOST_BYTES hold ``n_numbers`` for each of a batch."""
    step = max(1, MOST_BYTES // (8 * n_numbers))
    return zip(x.split(step), out.split(step), strict=True)
