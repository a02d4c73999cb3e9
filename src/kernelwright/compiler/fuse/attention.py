"""Attention as a step of our own where an emitter supports it: without a mask."""

from __future__ import annotations

import math
from collections.abc import Callable

from kernelwright.compiler.ir.ir import Attention, Call, Program, Ref, Step, Tensor
from kernelwright.compiler.ir.whole import own_calls

_NAME = "torch.ops.aten.scaled_dot_product_attention"


def own_attention(program: Program, supports: Callable[[Step], bool], least: int) -> Program:
    """Return ``program`` with attention as steps of our own where ``supports`` agrees, from
    ``least`` products on."""

    def made_of(call: Call, tensors: dict[str, Tensor]) -> Attention | None:
        own = _attention(call, tensors)
        return own if own and _n_products(own) >= least and supports(own) else None

    return own_calls(program, made_of)


def _n_products(step: Attention) -> int:
    """Return the number of products of a query's element and a key's."""
    return math.prod(step.q.shape) * step.k.shape[2]


def _attention(call: Call, tensors: dict[str, Tensor]) -> Attention | None:
    """Return the call as an Attention; None if it has a mask or uses dropout."""
    if not call.target.startswith(_NAME):
        return None
    named = dict(call.kwargs)
    scale, _ = named.pop("scale", None), named.pop("enable_gqa", False)  # the heads tell
    defaults = (None, 0.0, False)
    q, k, v, mask, dropout, causal = (*call.args, *defaults[len(call.args) - 3 :])
    refs = (q, k, v)
    if named or mask is not None or dropout or not all(isinstance(r, Ref) for r in refs):
        return None
    tensor_q, tensor_k, tensor_v = (tensors[ref.name] for ref in refs)
    if len(tensor_q.shape) != 4:
        return None
    factor = 1.0 / math.sqrt(tensor_q.shape[-1]) if scale is None else float(scale)
    (result,) = call.outputs
    return Attention(
        "attention", tensor_q, tensor_k, tensor_v, result, factor, bool(causal), call.origin
    )
