"""Counting arithmetic by torch's own counter, without waiting for torch's compiler."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

from torch.utils import flop_counter
from torch.utils.flop_counter import FlopCounterMode

KEPT = "__dynamo_disable"
"""The attribute in which torch._disable_dynamo keeps a wrapped function (torch/_compile.py)."""


@contextlib.contextmanager
def counting_flops() -> Iterator[FlopCounterMode]:
    """Count the arithmetic of all operators inside this context.

    At its first operator the counter imports torch's compiler, to hide from it: some 800 modules,
    1.2 s on a Zen 5 core. Where nothing has imported the compiler, there is nothing to hide from.
    If this version of torch names its internals otherwise, the import is left to happen.
    """
    dispatch = getattr(flop_counter, "_FlopCounterMode", FlopCounterMode).__torch_dispatch__
    own = getattr(dispatch, "__wrapped__", None)
    is_alone = own is not None and "torch._dynamo" not in sys.modules and KEPT not in own.__dict__
    if is_alone:
        own.__dict__[KEPT] = own
    try:
        counter = FlopCounterMode(display=False)
        if hasattr(counter, "mod_tracker"):
            counter.mod_tracker = _Untracked()
        with counter:
            yield counter
    finally:
        if is_alone:
            del own.__dict__[KEPT]


class _Untracked(contextlib.nullcontext[None]):
    """A stand-in for torch's tracker of modules, whose hooks forbid torch.autograd.grad inside."""

    parents = frozenset({"Global"})
