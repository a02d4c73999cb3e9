"""Swap: kernels put into the modules of a model, and taken out again."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping

from torch import nn

from kernelwright.runtime.dispatch import Key, serve


def put_in(model: nn.Module, kernels: Mapping[str, Mapping[Key, nn.Module]], on_miss: str) -> None:
    """Give the modules at these paths forwards that call the kernels, with the modules' weights."""
    for path, by_key in kernels.items():
        serve(model.get_submodule(path), by_key, on_miss)


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
