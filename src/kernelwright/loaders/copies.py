"""Copies of a module that share nothing with it, functions that close over its parts included."""

from __future__ import annotations

import contextlib
import copy
from collections import OrderedDict
from functools import partial
from types import CellType, FunctionType, MethodType
from typing import Any

import torch

PARTS = ("_parameters", "_buffers", "_modules")
"""Of a module: no functions, and copied already."""


def copied(module: torch.nn.Module) -> torch.nn.Module:
    """A deep copy, whose own lambdas and nested functions use its parts.

    ``copy.deepcopy`` takes a function as it is: ``self.act = lambda x: layer(x)`` would go on with
    the layer of the original, and with its weights.

    Not covered:
        Functions that objects of other classes hold, dicts of their own kind among them.
    """
    memo: dict[int, Any] = {}
    for part in module.modules():
        for value in vars(part).values():
            if isinstance(value, torch.Tensor) and not value.is_leaf:  # as weight_norm leaves it
                memo[id(value)] = value.detach().clone()
            elif isinstance(value, torch.jit.ScriptFunction):  # which cannot be copied
                memo[id(value)] = value
    twin = copy.deepcopy(module, memo)
    for part in twin.modules():
        for name, value in vars(part).items():
            if name in PARTS or memo.get(id(value)) is value:
                continue
            if type(value) in (dict, OrderedDict):  # in place: others hold it, hooks' handles too
                memo[id(value)] = value
                value.update([(key, _moved(one, memo)) for key, one in value.items()])
            elif isinstance(value, (FunctionType, partial, list, tuple)):
                vars(part)[name] = _moved(value, memo)
    return twin


def _moved(held: Any, memo: dict[int, Any]) -> Any:
    """``held`` as the copy has it: functions with the copies of what they close over and default
    to."""
    if id(held) in memo:
        return memo[id(held)]
    if isinstance(held, MethodType):
        return MethodType(held.__func__, _moved(held.__self__, memo))
    if isinstance(held, partial):
        words = {key: _moved(value, memo) for key, value in held.keywords.items()}
        return partial(_moved(held.func, memo), *_moved(held.args, memo), **words)
    if type(held) in (list, tuple):
        return type(held)(_moved(one, memo) for one in held)
    if type(held) in (dict, OrderedDict):  # the second holds a module's hooks
        moved = memo[id(held)] = type(held)()  # before its values: it may hold itself
        moved.update([(key, _moved(value, memo)) for key, value in held.items()])
        return moved
    # A function of a file holds no module, and is pickled by its name.
    is_nested = isinstance(held, FunctionType) and "<locals>" in held.__qualname__
    return _moved_function(held, memo) if is_nested else held


def _moved_function(held: FunctionType, memo: dict[int, Any]) -> FunctionType:
    closure = held.__closure__ or ()
    cells = tuple(CellType() for _ in closure)
    moved = FunctionType(held.__code__, held.__globals__, held.__name__, None, cells)
    moved.__qualname__ = held.__qualname__
    memo[id(held)] = moved  # before its cells: it may call itself
    moved.__defaults__ = _moved(held.__defaults__, memo)
    words = held.__kwdefaults__
    moved.__kwdefaults__ = words and {key: _moved(value, memo) for key, value in words.items()}
    for old, new in zip(closure, cells, strict=True):
        with contextlib.suppress(ValueError):  # nothing is in it yet
            new.cell_contents = _moved(old.cell_contents, memo)
    return moved
