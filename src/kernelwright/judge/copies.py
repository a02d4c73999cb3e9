"""Copies of a module that share nothing with it, functions that close over its parts included."""

from __future__ import annotations

import copy
from types import CellType, FunctionType
from typing import Any

import torch


def copied(module: torch.nn.Module) -> torch.nn.Module:
    """A deep copy, whose own lambdas and nested functions use its parts.

    ``copy.deepcopy`` takes a function as it is: ``self.act = lambda x: layer(x)`` would go on with
    the layer of the original, and with its weights.
    """
    memo: dict[int, Any] = {}
    twin = copy.deepcopy(module, memo)
    for part in twin.modules():
        for name, value in vars(part).items():
            if isinstance(value, FunctionType) and value.__closure__:
                vars(part)[name] = _moved(value, memo)
    return twin


def _moved(function: FunctionType, memo: dict[int, Any]) -> FunctionType:
    """``function``, with what it closes over replaced by its copies where there are any."""
    held = (cell.cell_contents for cell in function.__closure__ or ())
    cells = tuple(CellType(memo.get(id(one), one)) for one in held)
    globals_, name = function.__globals__, function.__name__
    moved = FunctionType(function.__code__, globals_, name, function.__defaults__, cells)
    moved.__kwdefaults__ = function.__kwdefaults__
    return moved
