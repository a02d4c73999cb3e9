"""Norms, taken apart for training with their statistics in float32 where inputs are half as wide.

torch's own definitions round them to the inputs' dtype on a CPU, where modules are captured, and
not on a GPU. Nothing rounds them here on either.

Source:
    torch/_refs/__init__.py (native_layer_norm, native_group_norm), of torch 2.11 and 2.13.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

aten = torch.ops.aten
Norm = tuple[torch.Tensor, torch.Tensor, torch.Tensor]
"""The norm, its mean, and one over its deviation."""


def _normalised(x: torch.Tensor, dims: Sequence[int], eps: float) -> Norm:
    wide = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    variance, mean = torch.var_mean(wide, dim=list(dims), correction=0, keepdim=True)
    scale = torch.rsqrt(variance + eps)
    return (wide - mean) * scale, mean, scale


def layer_norm(
    x: torch.Tensor,
    shape: Sequence[int],
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    eps: float,
) -> Norm:
    """``native_layer_norm``."""
    value, mean, scale = _normalised(x, range(x.dim() - len(shape), x.dim()), eps)
    value = value if weight is None else value * weight
    value = value if bias is None else value + bias
    return value.to(x.dtype), mean, scale


def group_norm(
    x: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    n_images: int,
    n_channels: int,
    n_positions: int,
    groups: int,
    eps: float,
) -> Norm:
    """``native_group_norm``; statistics are of (image, group)."""
    split = x.reshape(n_images, groups, n_channels // groups * n_positions)
    value, mean, scale = _normalised(split, [2], eps)
    value = value.reshape(x.shape)
    by_channel = (1, n_channels, *([1] * (x.dim() - 2)))
    value = value if weight is None else value * weight.reshape(by_channel)
    value = value if bias is None else value + bias.reshape(by_channel)
    return value.to(x.dtype), mean.squeeze(2), scale.squeeze(2)


NORMS: dict[Any, Callable[..., Norm]] = {
    aten.native_layer_norm.default: layer_norm,
    aten.native_group_norm.default: group_norm,
}
"""The definitions by the operators that they take apart."""
