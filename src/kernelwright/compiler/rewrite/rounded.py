"""Attention in float32 between tensors of a narrower type: what it reads are that type's values,
and what it gives is rounded to it."""

from __future__ import annotations

from typing import Any

import torch
from torch import fx

from kernelwright.compiler.lower.graph import name_of
from kernelwright.compiler.rewrite.pattern import Bindings

NARROW = (torch.bfloat16, torch.float16)
_VIEWS = frozenset({
    "view", "reshape", "permute", "transpose", "unsqueeze", "squeeze", "expand", "slice", "select",
    "clone", "_unsafe_view", "t",
})  # fmt: skip


def rounded_attention(found: Bindings) -> dict[str, Any] | None:
    """The match reads values of one narrow type, and all that is made of its result is rounded to
    that type; the mask, if any, is not computed with."""
    operands = [found["q"], found["k"], found["v"]]
    types = {narrow_type(x) for x in operands}
    mask = found["mask"]
    is_plain_mask = mask is None or mask.meta["val"].dtype == torch.bool
    if len(types) != 1 or None in types or found["p"] or not is_plain_mask:
        return None
    (narrow,) = types
    attention = found[""][0]
    names = {"narrow": narrow, "wide": torch.float32}
    return names if _is_rounded(attention, narrow) else None


def cast_back(found: Bindings) -> dict[str, Any] | None:
    """Views of a cast from a narrow type are cast to it."""
    return {} if narrow_type(found["x"]) == found["narrow"] else None


def narrow_type(node: Any) -> torch.dtype | None:
    """The narrow type whose values the node's are; None where they are not known to be one's."""
    while isinstance(node, fx.Node) and node.op == "call_function" and name_of(node) in _VIEWS:
        node = node.args[0]
    is_cast = isinstance(node, fx.Node) and node.op == "call_function"
    if not is_cast or name_of(node) != "_to_copy" or node.meta["val"].dtype != torch.float32:
        return None
    dtype = node.args[0].meta["val"].dtype
    return dtype if dtype in NARROW else None


def _is_rounded(node: fx.Node, narrow: Any) -> bool:
    return bool(node.users) and all(
        user.op == "call_function"
        and (
            (name_of(user) == "_to_copy" and user.meta["val"].dtype == narrow)
            or (name_of(user) in (*_VIEWS, "cat") and _is_rounded(user, narrow))
        )
        for user in node.users
    )
