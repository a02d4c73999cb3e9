"""What a module puts into the lists and dictionaries that it is given: a cache's new keys, say.

That is a result like what it returns. What it only takes out of them, or moves, is none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch

from kernelwright.judge.machine.layout import map_tensors

Path = tuple[Any, ...]
"""From the arguments to a tensor: an argument's number, then keys and numbers."""


def anew(arguments: Any) -> Any:
    """The same tensors, in lists and dictionaries that nobody else has."""
    return map_tensors(lambda tensor: tensor, arguments)


def has_containers(arguments: list[Any]) -> bool:
    """Whether any argument is something that tensors may be put into."""
    return any(isinstance(value, (list, tuple, dict)) for value in arguments)


def new_entries(arguments: list[Any], held: Sequence[torch.Tensor]) -> tuple[Path, ...]:
    """Where tensors are in them that are none of those that they ``held`` before a call."""
    known = {id(tensor) for tensor in held}
    return tuple(path for path, tensor in _tensors(arguments) if id(tensor) not in known)


def with_entries(result: Any, arguments: Any, entries: Sequence[Path]) -> Any:
    """A call's ``result``, and what is at these places after it; None where there is nothing."""
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
