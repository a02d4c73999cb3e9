"""Writes the parts of a KernelBench-format text that a class, function or instance lacks."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from kernelwright.core.errors import TaskError

INSTANCE = '''"""{name}: an nn.Module with its weights, and inputs drawn like those it was given."""

import cloudpickle
import torch
from torch import nn

HAS_FIXED_WEIGHTS = True


class Model(nn.Module):
    """A copy of the module that was given, at every construction: no seed changes its weights."""

    def __new__(cls):
        return cloudpickle.loads(PAYLOAD)["target"]
'''

FUNCTION = '''"""{name}: a function, and inputs drawn like those it was given."""

import cloudpickle
import torch

{name} = cloudpickle.loads(PAYLOAD)["target"]
'''

PICKLED_INPUTS = """

import cloudpickle

get_inputs = cloudpickle.loads(PAYLOAD)["inputs"]
"""


def function_module(function: str, parameters: Sequence[str]) -> str:
    """Return the text of a module without weights whose forward is ``function``."""
    arguments = ", ".join(parameters)
    return f'''

class Model(torch.nn.Module):
    """{function} as a module without weights."""

    def forward(self, {arguments}):
        return {function}({arguments})
'''


def positional_subclass(parent: str, n_positional: int, names: Sequence[str]) -> str:
    """Return the text of a subclass that takes the keyword arguments ``names`` by position.

    KernelBench constructs ``Model(*get_init_inputs())``, without keyword arguments.
    """
    first = [f"argument_{i}" for i in range(n_positional)]
    parameters = ", ".join(["self", *first, *names])
    passed = ", ".join([*first, *(f"{name}={name}" for name in names)])
    return f'''

class Model({parent}):
    """{parent} with its keyword arguments by position."""

    def __init__({parameters}):
        super().__init__({passed})
'''


def get_inputs(expressions: Sequence[str]) -> str:
    """Return the text of ``get_inputs``, with one expression per argument of the forward."""
    lines = "".join(f"        {text},\n" for text in expressions)
    return f"\n\ndef get_inputs():\n    return [\n{lines}    ]\n"


def get_init_inputs(arguments: Sequence[Any]) -> str:
    """Return the text of ``get_init_inputs``.

    Raises:
        TaskError: an argument cannot be written as text.
    """
    for value in arguments:
        if not is_literal(value):
            raise TaskError(
                "a constructor argument cannot be written as text",
                seen=f"{type(value).__name__}: {value!r}"[:200],
                do="construct the module and give the instance, with inputs=",
            )
    return f"\n\ndef get_init_inputs():\n    return {list(arguments)!r}\n"


def is_literal(value: Any) -> bool:
    """Whether ``repr(value)`` reads back as the same value."""
    try:
        return bool(ast.literal_eval(repr(value)) == value)
    except (ValueError, SyntaxError):
        return False
