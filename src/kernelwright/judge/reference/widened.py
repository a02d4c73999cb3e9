"""Modules in float64, with everything that they hold."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from kernelwright.core.outcome import Warned, WarningCode
from kernelwright.judge.reference.nudges import Change, widen
from kernelwright.judge.refusal import FAILURES, memory_apart
from kernelwright.loaders.copies import copied
from kernelwright.loaders.thread_state import made_in_float64

WIDER = {torch.float32: torch.float64, torch.complex64: torch.complex128}
FLOAT8 = (torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz)
WIDEST = WIDER | dict.fromkeys((torch.float16, torch.bfloat16, *FLOAT8), torch.float64)
NARROWING = (torch.Tensor.half, torch.Tensor.bfloat16)
NO_FLOAT64 = Warned(
    WarningCode.NO_FLOAT64,
    "float64 is not possible for this reference on this machine: its own result is compared",
)
OTHER_IN_FLOAT64 = Warned(
    WarningCode.FLOAT64_DIFFERS,
    "in float64 this reference gives something else, as one does that draws random numbers, or "
    "whose results cancel: its own result is compared",
)


def in_float64(module: torch.nn.Module, change: Change | None = None) -> torch.nn.Module:
    """A copy in float64, its parameters first changed by ``change``. Plain tensor attributes, which
    ``Module.double`` leaves as they are, become float64 too."""
    twin = copied(module)
    if change is not None:
        for weight in twin.parameters():
            weight.data = change(weight.data)
    for part in twin.modules():
        for name, value in vars(part).items():
            if isinstance(value, torch.Tensor):
                vars(part)[name] = widen(value)
    wide: torch.nn.Module = twin._apply(widen)  # as double(), and complex ones too
    return wide


class NamedWider(TorchFunctionMode):
    """Replaces types that are asked for by name: float32 by float64, and others as ``wider`` says.
    Views of bits are left alone."""

    def __init__(self, wider: Mapping[torch.dtype, torch.dtype] = WIDER) -> None:
        super().__init__()
        self._wider = wider

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        wider = self._wider
        if func is torch.Tensor.float or (func in NARROWING and torch.float16 in wider):
            return args[0].double()
        if func is not torch.Tensor.view:
            args = [wider.get(one, one) if type(one) is torch.dtype else one for one in args]
            if "dtype" in kwargs:
                kwargs = {**kwargs, "dtype": wider.get(kwargs["dtype"], kwargs["dtype"])}
        return func(*args, **kwargs)


NAMINGS: tuple[Callable[[], Any], ...] = (
    partial(NamedWider, WIDEST),
    NamedWider,
    contextlib.nullcontext,
)
"""Replacements of types that are asked for by name, in the order in which they are tried. Without
them, a reference that computes angles in float32, or products in bfloat16, would have no error of
its own, and a kernel that computes them better would be wrong."""


def run_in_float64(
    module: torch.nn.Module,
    run: Callable[[torch.nn.Module], Any],
    namings: Sequence[Callable[[], Any]] = NAMINGS,
    change: Change | None = None,
) -> Any:
    """Return the result of ``run`` for a float64 copy of the module; None if that fails."""
    for naming in namings:
        try:
            with memory_apart(), made_in_float64():
                twin = in_float64(module, change)  # before names mean other types
                with naming():
                    return run(twin)
        except MemoryError:
            torch.cuda.empty_cache()
            return None
        except FAILURES:
            continue
    return None
