"""Swap: kernels put into the modules of a model, and taken out again."""

from __future__ import annotations

import contextlib
import copy
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from torch import nn

from kernelwright.compiler.candidate.unchanged import MISS
from kernelwright.runtime.calls import Call
from kernelwright.runtime.dispatch import Key, serve


@dataclass(frozen=True)
class Swapped:
    """The kernels of one module, or their files, and how it is called."""

    call: Call
    kernels: dict[Key, Any]


def put_in(model: nn.Module, kernels: Mapping[str, Swapped], on_miss: str) -> None:
    """Give the modules at these paths forwards that call the kernels, with the modules' weights."""
    for path, swapped in kernels.items():
        serve(model.get_submodule(path), swapped.kernels, on_miss, call=swapped.call)


def take_out(model: nn.Module, paths: Iterable[str]) -> None:
    """Give the modules at these paths their own forwards back."""
    for path in paths:
        held = vars(model.get_submodule(path))
        for name in ("forward", "on_miss", "why_not"):
            held.pop(name, None)


def twin_of(model: nn.Module) -> nn.Module:
    """A copy of the model's structure that shares its weights."""
    tensors = [*model.parameters(), *model.buffers()]
    return copy.deepcopy(model, {id(tensor): tensor for tensor in tensors})


@contextlib.contextmanager
def missing(model: nn.Module, paths: Iterable[str], on_miss: str) -> Iterator[None]:
    """Context in which ``on_miss`` says what happens at a call that no kernel serves."""
    served = [vars(model.get_submodule(path)) for path in paths]
    before = [held["on_miss"] for held in served]
    try:
        for held in served:
            held["on_miss"] = on_miss
        yield
    finally:
        for held, own in zip(served, before, strict=True):
            held["on_miss"] = own


@contextlib.contextmanager
def noted_misses(model: nn.Module, paths: Iterable[str]) -> Iterator[list[str]]:
    """Context with a list of the reasons why calls are not served, one for each call that
    torch.compile traces."""
    reasons: list[str] = []

    def note(message: Warning | str, *_: Any, **__: Any) -> None:
        if (text := str(message)).startswith(MISS):
            reasons.append(text.removeprefix(MISS).lstrip(": "))

    with warnings.catch_warnings(), missing(model, paths, "warn"):
        warnings.simplefilter("always")
        warnings.showwarning = note
        yield reasons
