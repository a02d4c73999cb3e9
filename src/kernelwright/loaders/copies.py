"""Copies of a module that share nothing with it, not even through functions that it holds."""

from __future__ import annotations

import contextlib
import copy
from collections import OrderedDict
from functools import partial
from types import CellType, FunctionType, MethodType
from typing import Any

import torch

PARTS = ("_parameters", "_buffers", "_modules")
"""Attributes of a module that contain no functions and that ``copy.deepcopy`` copies correctly."""

UNCOPIED = (torch.jit.ScriptFunction, torch.finfo, torch.iinfo)
"""Types of attributes that do not change and that ``copy.deepcopy`` cannot copy."""


def copied(module: torch.nn.Module) -> torch.nn.Module:
    """Return a deep copy whose lambdas and nested functions refer to the copy's own parts.

    ``copy.deepcopy`` does not copy functions: with ``self.act = lambda x: layer(x)`` the copy would
    still use the layer and the weights of the original.

    Not covered:
        Functions held by objects of other classes, including subclasses of dict.
    """
    memo: dict[int, Any] = {}
    for part in module.modules():
        for value in vars(part).values():
            if isinstance(value, torch.Tensor) and not value.is_leaf:  # weight_norm leaves these
                memo[id(value)] = value.detach().clone()
            elif isinstance(value, UNCOPIED):
                memo[id(value)] = value
    twin = copy.deepcopy(module, memo)
    for part in twin.modules():
        for name, value in vars(part).items():
            if name in PARTS or memo.get(id(value)) is value:
                continue
            if type(value) in (dict, OrderedDict):  # in place, since hooks' handles refer to it
                memo[id(value)] = value
                value.update([(key, _moved(one, memo)) for key, one in value.items()])
            elif isinstance(value, (FunctionType, partial, list, tuple)):
                vars(part)[name] = _moved(value, memo)
    return twin


def _moved(held: Any, memo: dict[int, Any]) -> Any:
    """Return the copy's version of ``held``: functions get copies of their closure and defaults."""
    if id(held) in memo:
        return memo[id(held)]
    if isinstance(held, MethodType):
        return MethodType(held.__func__, _moved(held.__self__, memo))
    if isinstance(held, partial):
        words = {key: _moved(value, memo) for key, value in held.keywords.items()}
        return partial(_moved(held.func, memo), *_moved(held.args, memo), **words)
    if type(held) in (list, tuple):
        return type(held)(_moved(one, memo) for one in held)
    if type(held) in (dict, OrderedDict):  # a module's hooks are in an OrderedDict
        moved = memo[id(held)] = type(held)()  # before its values, since it may contain itself
        moved.update([(key, _moved(value, memo)) for key, value in held.items()])
        return moved
    # A function at the top level of a file closes over no module and is pickled by its name.
    is_nested = isinstance(held, FunctionType) and "<locals>" in held.__qualname__
    return _moved_function(held, memo) if is_nested else held


def _moved_function(held: FunctionType, memo: dict[int, Any]) -> FunctionType:
    closure = held.__closure__ or ()
    cells = tuple(CellType() for _ in closure)
    moved = FunctionType(held.__code__, held.__globals__, held.__name__, None, cells)
    moved.__qualname__ = held.__qualname__
    memo[id(held)] = moved  # before its cells, since it may call itself
    moved.__defaults__ = _moved(held.__defaults__, memo)
    words = held.__kwdefaults__
    moved.__kwdefaults__ = words and {key: _moved(value, memo) for key, value in words.items()}
    for old, new in zip(closure, cells, strict=True):
        with contextlib.suppress(ValueError):  # the cell is still empty
            new.cell_contents = _moved(old.cell_contents, memo)
    return moved
