"""Attention of one new token in each row, for models whose heads share keys and values.

transformers copies the keys and values for every head before it attends: for a 1.5 B model, six
times what the cache holds, written and read again for each token. The heads that share them are
rows of one query instead, and the cache is read once.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch

NAME = "kernelwright_grouped"
REPLACED = "sdpa"


def attend(
    module: torch.nn.Module, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
    attention_mask: torch.Tensor | None, scaling: float | None = None, **_: Any,
) -> tuple[torch.Tensor, None]:  # fmt: skip
    """What transformers asks of an attention.

    Shapes:
        query (rows, heads, 1, size), key and value (rows, shared, places, size), attention_mask
        (rows, 1, 1, places), true where a token may look; gives (rows, 1, heads, size).
    """
    rows, heads, _, size = query.shape
    together = query.view(rows, key.shape[1], heads // key.shape[1], size)
    found = torch.nn.functional.scaled_dot_product_attention(
        together, key, value, attn_mask=attention_mask, scale=scaling
    )
    return found.reshape(rows, 1, heads, size), None


@contextlib.contextmanager
def grouped(model: Any) -> Iterator[None]:
    """``attend`` in place of torch's own attention; a model that uses another keeps that."""
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
