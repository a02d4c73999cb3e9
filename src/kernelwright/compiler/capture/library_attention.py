"""Attention of a training step on a GPU: the library's kernels, forward and backward.

Taken apart, it would have all weights of attention in memory. The library's kernels keep the
logarithm of each row's sum and compute the weights again in the backward, and no dialect has a
kernel of its own for that. Attention with a mask, dropout or grouped heads is taken apart.

Source:
    torch/nn/attention/__init__.py and aten/src/ATen/native/transformers/cuda/sdp_utils.cpp, of
    torch 2.11 (what each kernel takes).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import fx

aten = torch.ops.aten
LARGEST_HEAD = 256
"""The largest head that the library's kernels take."""
ALIGNED = 8
"""A head has a multiple of so many numbers."""


def kept_whole(graph: fx.Graph) -> None:
    """Call the library's kernels for every attention in ``graph`` that they take."""
    for node in list(graph.nodes):
        if node.target is aten.scaled_dot_product_attention.default and _is_taken(node):
            q, k, v, _, _, is_causal = (*node.args, None, 0.0, False)[:6]
            with graph.inserting_after(node):
                options = {"is_causal": is_causal, "scale": node.kwargs.get("scale")}
                new = graph.call_function(_attention, (q, k, v), options)
            new.meta = dict(node.meta)
            node.replace_all_uses_with(new)
            graph.erase_node(node)


def _is_taken(node: fx.Node) -> bool:
    q, k, v, mask, dropout = (*node.args, None, 0.0)[:5]
    if mask is not None or dropout or node.kwargs.get("enable_gqa"):
        return False
    forms = [operand.meta["val"] for operand in (q, k, v)]
    heads = {form.shape[-1] for form in forms}
    (head, *others) = heads
    return (
        all(form.dim() == 4 and form.stride(-1) == 1 for form in forms)
        and len({form.shape[:2] for form in forms}) == 1
        and not others
        and head % ALIGNED == 0
        and head <= LARGEST_HEAD
        and forms[0].dtype in (torch.float32, torch.float16, torch.bfloat16)
    )


def _attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *, is_causal: bool, scale: float | None
) -> torch.Tensor:
    """Return causal or full attention of q, k and v, [batch, heads, length, head]."""
    given: Any = (q, k, v)
    if q.dtype is torch.float32:
        found = aten._scaled_dot_product_efficient_attention(
            *given, None, True, 0.0, is_causal, scale=scale
        )
    else:
        found = aten._scaled_dot_product_flash_attention(*given, 0.0, is_causal, False, scale=scale)
    result: torch.Tensor = found[0]
    return result
