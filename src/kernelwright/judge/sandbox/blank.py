"""Modules that are made without drawing weights, because others are to be loaded.

To draw 2.7 GB of weights on a CPU and to copy them to a GPU took 5 s in each child. Only for
trusted text: a constructor that needs its numbers fails, and is called again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.nn.parameter import is_lazy
from torch.utils._pytree import tree_leaves

from kernelwright.loaders.quiet_mode import QuietMode

WORTH_BYTES = 32 << 20
"""The size of weights from which it is worth while."""


def made_blank(
    make: Callable[[], torch.nn.Module], names: Collection[str], device: torch.device
) -> torch.nn.Module | None:
    """The module on the device with arbitrary values; None unless its tensors are the weights of
    these ``names``, each in memory of its own, and nothing else is left without memory."""
    made = _WithoutMemory()
    try:
        with made, torch.device("meta"):
            module = make()
    except Exception:  # the constructor needs its numbers
        return None
    if not _are_all(module, names) or _knows_its_device(module):
        return None
    module.to_empty(device=device)
    return None if made.are_left() else module


def _are_all(module: torch.nn.Module, names: Collection[str]) -> bool:
    """True if the module's weights are those of these names, none of them twice."""
    own = [
        *module.named_parameters(remove_duplicate=False),
        *module.named_buffers(remove_duplicate=False),
    ]
    are_apart = len({id(weight) for _, weight in own}) == len(own)
    return (
        are_apart
        and {name for name, _ in own} == set(names)
        and not any(is_lazy(weight) for _, weight in own)
    )


def _knows_its_device(module: torch.nn.Module) -> bool:
    """True if a part has noted the device that it was made on."""
    noted = tree_leaves([list(vars(part).values()) for part in module.modules()])
    return any(isinstance(value, torch.device) and value.type == "meta" for value in noted)


class _WithoutMemory(QuietMode):
    """Notes the tensors without memory that are made while it is entered."""

    def __init__(self) -> None:
        super().__init__()
        self._storages: list[StorageWeakRef] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(found):
            if isinstance(leaf, torch.Tensor) and leaf.is_meta:
                self._storages.append(StorageWeakRef(leaf.untyped_storage()))
        return found

    def are_left(self) -> bool:
        """True if any of them still exists."""
        return not all(storage.expired() for storage in self._storages)
