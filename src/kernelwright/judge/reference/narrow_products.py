"""Products that torch has for narrow types alone, in float64: of rows in groups, as mixtures of
experts have them, and of float8 with scales. Without them such a reference would have nothing but
its own result to be compared with, and each other place of rounding would be an error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from kernelwright.loaders.quiet_mode import QuietMode


class NarrowProducts(QuietMode):
    """While it is entered, these products take float64, too."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        if args and isinstance(args[0], torch.Tensor) and args[0].dtype is torch.float64:
            if func is torch.ops.aten._grouped_mm.default:
                return grouped(*args, **kwargs)
            if func is torch.ops.aten._scaled_mm.default:
                return scaled(*args, **kwargs)
        return func(*args, **kwargs)


def grouped(
    rows: torch.Tensor,
    weights: torch.Tensor,
    offs: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    out_dtype: torch.dtype | None = None,
) -> torch.Tensor:
    """``aten._grouped_mm`` of rows (n, k) in groups that end at ``offs``, each with a matrix
    (k, m) of its own; rows of no group are zero.

    Raises:
        NotImplementedError: other dimensions, or a bias.
    """
    if offs is None or bias is not None or (rows.dim(), weights.dim()) != (2, 3):
        raise NotImplementedError("groups of other dimensions than rows")
    result = rows.new_zeros(rows.shape[0], weights.shape[2])
    start = 0
    for matrix, end in zip(weights, offs.tolist(), strict=True):
        result[start:end] = rows[start:end] @ matrix
        start = end
    return result


def scaled(
    a: torch.Tensor,
    b: torch.Tensor,
    scale_a: torch.Tensor,
    scale_b: torch.Tensor,
    bias: torch.Tensor | None = None,
    scale_result: torch.Tensor | None = None,
    *_: Any,
    **__: Any,
) -> torch.Tensor:
    """``aten._scaled_mm`` with a scale for each operand, or for each row and column.

    Raises:
        NotImplementedError: scales of blocks, or of the result.
    """
    shapes = ((a.shape[0], 1), (1, b.shape[1]))
    scales = []
    for scale, shape in zip((scale_a, scale_b), shapes, strict=True):
        if scale_result is not None or (scale.numel() > 1 and scale.shape != shape):
            raise NotImplementedError("scales of blocks, or of the result")
        scales.append(scale.double().reshape(shape if scale.numel() > 1 else (1, 1)))
    result = (a @ b.double()) * scales[0] * scales[1]
    return result if bias is None else result + bias
