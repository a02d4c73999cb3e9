"""Grouped-query attention for one new token per row, without copying keys and values.

transformers copies shared keys and values for every head before attention: for a 1.5 B model it
writes and reads six times the size of the cache for each token. Here the heads that share keys
become rows of one query, so that the cache is read once.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch

NAME = "kernelwright_grouped"
REPLACED = "sdpa"


def attend(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    **_: Any,
) -> tuple[torch.Tensor, None]:
    """Attention function with the signature that transformers requires.

    Shapes:
        query (rows, heads, 1, size), key and value (rows, shared heads, positions, size),
        attention_mask (rows, 1, 1, positions), true where attention may read; the result is
        (rows, 1, heads, size).
    """
    rows, heads, _, size = query.shape
    together = query.view(rows, key.shape[1], heads // key.shape[1], size)
    found = torch.nn.functional.scaled_dot_product_attention(
        together, key, value, attn_mask=attention_mask, scale=scaling
    )
    return found.reshape(rows, 1, heads, size), None


@contextlib.contextmanager
def grouped(model: Any) -> Iterator[None]:
    """Context with ``attend`` in place of torch's attention; other implementations are kept."""
    from transformers import AttentionInterface

    if model.config._attn_implementation != REPLACED:
        yield
        return
    AttentionInterface.register(NAME, attend)
    model.set_attn_implementation(NAME)
    try:
        yield
    finally:
        model.set_attn_implementation(REPLACED)
