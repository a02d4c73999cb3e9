"""Tensors that a module puts into lists and dictionaries among its arguments, such as a cache's.

They are results like its return value. Tensors that it only takes out of them, or moves, are not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch

from kernelwright.judge.sandbox.layout import map_tensors

Path = tuple[Any, ...]
"""The way to a tensor: the number of an argument, then keys and numbers."""


def fresh_containers(arguments: Any) -> Any:
    """The same tensors, in new lists and dictionaries."""
    return map_tensors(lambda tensor: tensor, arguments)


def has_containers(arguments: list[Any]) -> bool:
    """True if any argument is a list, tuple or dictionary."""
    return any(isinstance(value, (list, tuple, dict)) for value in arguments)


def new_entries(arguments: list[Any], held: Sequence[torch.Tensor]) -> tuple[Path, ...]:
    """The places of tensors that the arguments did not hold before a call, ``held``."""
    known = {id(tensor) for tensor in held}
    return tuple(path for path, tensor in _tensors(arguments) if id(tensor) not in known)


def with_entries(result: Any, arguments: Any, entries: Sequence[Path]) -> Any:
    """A call's ``result`` and the tensors at these places after it; None where there is none."""
    return (result, *(_at(arguments, path) for path in entries)) if entries else result


def _tensors(value: Any, path: Path = ()) -> Iterator[tuple[Path, torch.Tensor]]:
    if isinstance(value, torch.Tensor):
        yield path, value
    elif type(value) in (list, tuple, dict):
        keys = list(value) if type(value) is dict else range(len(value))
        for key in keys:
            yield from _tensors(value[key], (*path, key))


def _at(value: Any, path: Path) -> Any:
    for key in path:
        try:
            value = value[key]
        except (LookupError, TypeError):
            return None
    return value
