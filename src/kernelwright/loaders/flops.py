"""Formulas for torch's counter of arithmetic, where its own refuse what the operator takes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

ATTENTIONS = (
    "flash_attention",
    "efficient_attention",
    "cudnn_attention",
    "flash_attention_for_cpu",
)


def attention_formulas() -> dict[Any, Callable[..., int]]:
    """Return formulas for attention with fewer heads of keys than of queries, by operator. torch
    2.11's own end in an AssertionError on a GPU, and on a CPU there is none."""
    aten = torch.ops.aten
    found = (getattr(aten, f"_scaled_dot_product_{kind}", None) for kind in ATTENTIONS)
    return {operator: _attention_flops for operator in found if operator is not None}


def _attention_flops(query: Any, key: Any, value: Any, *_: Any, **__: Any) -> int:
    """Operations of both products, from the operands' shapes."""
    *rows, width = query
    return int(2 * math.prod(rows) * key[-2] * (width + value[-1]))
