"""Attention with capped scores as one operator, which only own code computes."""

from __future__ import annotations

import torch

OPERATORS = ("capped_attention",)
NAME = "torch.ops.kernelwright_whole.capped_attention"
_LIBRARY = torch.library.Library("kernelwright_whole", "FRAGMENT")
_LIBRARY.define(
    "capped_attention(Tensor q, Tensor k, Tensor v, Tensor? mask, float scale, float cap) -> Tensor"
)


def capped_attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    mask: torch.Tensor | None,
    scale: float,
    cap: float,
) -> torch.Tensor:
    """Return ``softmax(cap * tanh(q kᵀ scale / cap)) v`` over four dimensions, with a mask as in
    torch's attention. Several heads of q may share one of k and v."""
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], dim=1) for x in (k, v))
    scores = cap * torch.tanh((q @ k.mT).float() * (scale / cap))
    if mask is not None and mask.dtype == torch.bool:
        scores = scores.masked_fill(~mask, float("-inf"))
    elif mask is not None:
        scores = scores + mask
    return torch.softmax(scores, dim=-1).to(v.dtype) @ v


_LIBRARY.impl("capped_attention", capped_attention, "CompositeExplicitAutograd")
torch.library.register_fake(
    "kernelwright_whole::capped_attention",
    lambda q, k, v, mask, scale, cap: q.new_empty((*q.shape[:-1], v.shape[-1])),
    lib=_LIBRARY,
)
