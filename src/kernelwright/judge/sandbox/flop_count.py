"""Counting arithmetic by torch's own counter, without waiting for torch's compiler."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from torch.utils import flop_counter
from torch.utils.flop_counter import FlopCounterMode

from kernelwright.loaders.flops import attention_formulas

_COMPOSITE = "CompositeImplicitAutograd"
"""The key of operators that torch itself decomposes where no device has a kernel of its own."""
_DEVICES = ("CPU", "CUDA")
KEPT = "__dynamo_disable"
"""The attribute in which torch._disable_dynamo keeps a wrapped function (torch/_compile.py)."""


@contextlib.contextmanager
def counting_flops() -> Iterator[FlopCounterMode]:
    """Count the arithmetic of all operators inside this context.

    At its first operator the counter imports torch's compiler, to hide from it: some 800 modules,
    1.2 s on a Zen 5 core. Where nothing has imported the compiler, there is nothing to hide from.
    If this version of torch names its internals otherwise, the import is left to happen.
    """
    mode: Any = getattr(flop_counter, "_FlopCounterMode", FlopCounterMode)
    own = getattr(mode.__torch_dispatch__, "__wrapped__", None)
    is_alone = own is not None and "torch._dynamo" not in sys.modules and KEPT not in own.__dict__
    if is_alone:
        own.__dict__[KEPT] = own
    try:
        counter = FlopCounterMode(display=False, custom_mapping=attention_formulas())
        counter.__dict__["mod_tracker"] = _Untracked()
        counter.flop_registry = _Registry(counter.flop_registry)
        with counter:
            yield counter
    finally:
        if is_alone:
            del own.__dict__[KEPT]


class _Registry(dict[Any, Any]):
    """Operators that are counted as they are, not as what they decompose into.

    The counter runs the decomposition of every other operator. Those that have kernels run these
    outside of it: upsample_nearest2d rounds its positions otherwise than its decomposition, and
    silu_backward rounds once to bfloat16 where its decomposition does five times.
    """

    def __contains__(self, operator: object) -> bool:
        if super().__contains__(operator):
            return True
        if not isinstance(operator, torch._ops.OpOverload):
            return False
        has_kernel = partial(torch._C._dispatch_has_kernel_for_dispatch_key, operator.name())
        return not has_kernel(_COMPOSITE) or any(map(has_kernel, _DEVICES))


class _Untracked(contextlib.nullcontext[None]):
    """A stand-in for torch's tracker of modules, whose hooks forbid torch.autograd.grad inside."""

    parents = frozenset({"Global"})
