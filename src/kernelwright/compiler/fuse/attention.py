"""Attention as a step of our own where an emitter supports it.

A bool mask is looked at before: the keys that a row sees mostly lie side by side, as those before a
token, those within a window and those of one document do. Tiles of keys that no row of a tile sees
are then left out, and where all rows see all keys, no mask is read.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import torch
from torch import fx

from kernelwright.compiler.ir import capped
from kernelwright.compiler.ir.ir import (
    Affine,
    Attention,
    Axis,
    Call,
    Compute,
    Const,
    Iota,
    Kernel,
    Load,
    Program,
    Reduce,
    Ref,
    Step,
    Store,
    Tensor,
    contiguous,
)
from kernelwright.compiler.ir.prepared import made, needs
from kernelwright.compiler.ir.steps import references
from kernelwright.compiler.ir.whole import Own, own_calls

THIN = 4
"""Most tokens of a step of decoding, for which attention waits for keys and values alone."""
_VIEWS = ("unsqueeze", "expand", "reshape", "view", "_unsafe_view", "clone")
_NAME = "torch.ops.aten.scaled_dot_product_attention"


def few_queries(graph: fx.Graph) -> set[str]:
    """Return the names of the nodes in ``graph`` that are attention of few queries in 16 bits."""
    attention = torch.ops.aten.scaled_dot_product_attention.default
    queries = {n.name: n.args[0].meta["val"] for n in graph.nodes if n.target is attention}
    narrow = {name: q for name, q in queries.items() if q.dtype in (torch.bfloat16, torch.float16)}
    return {name for name, q in narrow.items() if q.shape[-2] <= THIN}


def own_attention(program: Program, supports: Callable[[Step], bool], least: int) -> Program:
    """Return ``program`` with attention as steps of our own where ``supports`` agrees, from
    ``least`` products on; capped attention and that of few queries always."""
    makers = {t.name: s for s in program.steps if isinstance(s, Call) for t in s.outputs}

    def made_of(call: Call, tensors: dict[str, Tensor]) -> Sequence[Own]:
        found = _attention(call, tensors)
        if found is None:
            return []
        is_few = found.q.shape[2] <= THIN and found.q.dtype in ("bfloat16", "float16")
        if is_few:
            k, v = (_unrepeated(each, makers, tensors) for each in (found.k, found.v))
            found = replace(found, k=k, v=v)
        own = [*_spans(found), found]
        is_wanted = is_few or found.cap or _n_products(found) >= least
        return own if is_wanted and all(map(supports, own)) else []

    return _without_unused(own_calls(program, made_of))


def _unrepeated(heads: Tensor, makers: Mapping[str, Call], tensors: dict[str, Tensor]) -> Tensor:
    """Return the tensor whose heads ``heads`` repeats for the queries that share them; else
    ``heads``."""
    source, sizes = heads, []
    for names in (("reshape", "view", "_unsafe_view"), ("expand",), ("unsqueeze",)):
        call = makers.get(source.name)
        if call is None or call.target.split(".")[3] not in names:
            return heads
        source = tensors[call.args[0].name]
        sizes.append(source.shape)
    spread, apart, own = sizes
    batch, n_own, *rest = own
    is_same = apart == (batch, n_own, 1, *rest) and spread[:2] == (batch, n_own)
    is_joined = heads.shape == (batch, n_own * spread[2], *rest)
    return source if is_same and is_joined and spread[3:] == (*rest,) else heads


def _without_unused(program: Program) -> Program:
    """Return ``program`` without views and copies that no step reads any more."""
    steps = list(program.steps)
    used = set(references(program.outputs)) | {n for n, _ in program.mutations} | {*program.checks}
    for step in reversed(program.steps):
        is_view = isinstance(step, Call) and step.target.split(".")[3] in _VIEWS
        if is_view and used.isdisjoint(made(step)):
            steps.remove(step)
        else:
            used |= needs(step)
    return replace(program, steps=tuple(steps))


def _n_products(step: Attention) -> int:
    """Return the number of products of a query's element and a key's."""
    return math.prod(step.q.shape) * step.k.shape[2]


def _attention(call: Call, tensors: dict[str, Tensor]) -> Attention | None:
    """Return the call as an Attention; None if it uses dropout."""
    named = dict(call.kwargs)
    cap, dropout, causal = 0.0, 0.0, False
    if call.target.startswith(capped.NAME):
        q, k, v, mask, scale, cap = call.args
    elif call.target.startswith(_NAME):
        scale, _ = named.pop("scale", None), named.pop("enable_gqa", False)  # the heads tell
        q, k, v, mask, dropout, causal = (*call.args, *(None, 0.0, False)[len(call.args) - 3 :])
    else:
        return None
    refs = (q, k, v, *((mask,) if mask is not None else ()))
    if named or dropout or not all(isinstance(r, Ref) for r in refs):
        return None
    given_q, given_k, given_v, *masks = (tensors[ref.name] for ref in refs)
    if len(given_q.shape) != 4 or (masks and (not masks[0].shape or masks[0].shape[-1] == 1)):
        return None
    factor = 1.0 / math.sqrt(given_q.shape[-1]) if scale is None else float(scale)
    (result,) = call.outputs
    found = Attention(
        "attention", given_q, given_k, given_v, result, factor, bool(causal), call.origin, cap
    )
    return _masked(found, masks[0]) if masks else found


def _masked(step: Attention, mask: Tensor) -> Attention:
    """Return the step with a mask, and if that is of bool, with what is known of its rows."""
    names = [f"{step.result.name}_{part}" for part in ("first", "end", "seen")]
    rows = [contiguous(name, mask.shape[:-1], "int32") for name in names]
    spans = tuple(rows) if mask.dtype == "bool" else ()
    return replace(step, mask=mask, spans=spans)


def _spans(step: Attention) -> list[Kernel]:
    """Return the kernel that computes what is known of a mask's rows, if it is of bool."""
    if step.mask is None or not step.spans:
        return []
    mask, (first, end, seen) = step.mask, step.spans
    keys = Axis("key", mask.shape[-1])
    rows = {d: Axis(f"i{d}", size) for d, size in enumerate(mask.shape[:-1]) if size != 1}
    place = Affine.of({axis.name: first.strides[d] for d, axis in rows.items()})
    along = {axis.name: mask.strides[d] for d, axis in rows.items()}
    body = (
        Load("sees", mask, Affine.of({**along, "key": mask.strides[-1]})),
        Iota("here", Affine.of({"key": 1})),
        Iota("after", Affine.of({"key": 1}, 1)),
        Const("none", 0, "int32"),
        Const("all", keys.size, "int32"),
        Compute("first_here", "where", ("sees", "here", "all"), "int32"),
        Compute("end_here", "where", ("sees", "after", "none"), "int32"),
        Compute("one", "cast", ("sees",), "int32"),
        Reduce("first", "min", "first_here", "int32"),
        Reduce("end", "max", "end_here", "int32"),
        Reduce("seen", "sum", "one", "int32"),
        Store(first, place, "first"),
        Store(end, place, "end"),
        Store(seen, place, "seen"),
    )
    return [Kernel("spans", tuple(rows.values()), (keys,), body, ("keys that a mask's rows see",))]
