"""Arguments and results of any kind, in lists, tuples and dictionaries that every tool knows."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

CLASS = "$class"
"""The key under which a dictionary that stands for an object has its class, 'package.module:Name';
the other keys are the object's parts. A dtype and its like are objects without parts."""
_CONSTANTS = (torch.dtype, torch.layout, torch.memory_format)
"""Values that torch.export takes as no argument, and whose name says all."""


def described(value: Any) -> Any:
    """Return ``value`` with every named tuple, dataclass and mapping in it as a dictionary."""
    kind = type(value)
    if kind in (list, tuple) or kind.__module__ == "torch.return_types":
        return (list if kind is list else tuple)(map(described, value))
    if kind is dict:
        return {key: described(part) for key, part in value.items()}
    if isinstance(value, _CONSTANTS):
        return {CLASS: str(value).replace(".", ":")}
    parts = _parts(value)
    if parts is None:
        return value
    name = f"{kind.__module__}:{kind.__qualname__}"
    return {CLASS: name, **{key: described(part) for key, part in parts.items()}}


def made(value: Any) -> Any:
    """Return what ``described`` was given; its classes must be imported."""
    if type(value) in (list, tuple):
        return type(value)(map(made, value))
    if type(value) is not dict:
        return value
    parts = {key: made(part) for key, part in value.items()}
    if CLASS not in parts:
        return parts
    place, _, name = parts.pop(CLASS).partition(":")
    kind: Any = sys.modules[place]
    for step in name.split("."):
        kind = getattr(kind, step)
    return kind if isinstance(kind, _CONSTANTS) else kind(**parts)


def classes(value: Any) -> Iterator[str]:
    """Yield the classes of the objects in a description, each as 'package.module:Name'."""
    if type(value) is dict and CLASS in value:
        yield value[CLASS]
    if type(value) in (list, tuple, dict):
        for part in value.values() if type(value) is dict else value:
            yield from classes(part)


def mapped(function: Callable[[Any], Any], value: Any) -> Any:
    """Return ``value`` with ``function`` applied to all but its lists, tuples and dictionaries."""
    if type(value) in (list, tuple):
        return type(value)(mapped(function, part) for part in value)
    if type(value) is dict:
        return {key: mapped(function, part) for key, part in value.items()}
    return function(value)


def _parts(value: Any) -> dict[str, Any] | None:
    """Return the parts of an object by the names that its constructor takes; None for others."""
    if isinstance(value, Mapping):
        return {str(key): part for key, part in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return dict(zip(value._fields, value, strict=True))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {part.name: getattr(value, part.name) for part in dataclasses.fields(value)}
    return None
