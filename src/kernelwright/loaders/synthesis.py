"""Writes the parts of a KernelBench-format text that a class, function or instance lacks."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from kernelwright.loaders.constructor import Expression

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
PICKLED_INIT = """

import cloudpickle


def get_init_inputs():
    return cloudpickle.loads(PAYLOAD)["init"]
"""


def function_module(function: str, parameters: Sequence[str], names: Sequence[str]) -> str:
    """Return the text of a module without weights whose forward is ``function``; it takes the
    arguments ``names`` by position, too."""
    arguments = ", ".join(["self", *parameters, *names])
    passed = ", ".join([*parameters, *(f"{name}={name}" for name in names)])
    return f'''

class Model(torch.nn.Module):
    """{function} as a module without weights."""

    def forward({arguments}):
        return {function}({passed})
'''


def subclass(parent: str, methods: Sequence[str]) -> str:
    """Return the text of a subclass of a class that is imported or takes arguments by name."""
    body = "".join(f"\n{method}" for method in methods)
    return f'''

class Model({parent}):
    """{parent} as a task has it: with what is given to it by position."""
{body}'''


def constructor(n_positional: int, names: Sequence[str]) -> str:
    """Return the text of a constructor that takes the keyword arguments ``names`` by position.

    KernelBench constructs ``Model(*get_init_inputs())``, without keyword arguments.
    """
    first = [f"argument_{i}" for i in range(n_positional)]
    parameters = ", ".join(["self", *first, *names])
    passed = ", ".join([*first, *(f"{name}={name}" for name in names)])
    return f"""\
    def __init__({parameters}):
        super().__init__({passed})
"""


def widened_forward(positional: Sequence[inspect.Parameter], names: Sequence[str]) -> str:
    """Return the text of a forward that takes the keyword arguments ``names`` by position, too.

    KernelBench calls ``model(*get_inputs())``. All calls of the parent's forward remain possible.
    """
    bare = [str(p.replace(annotation=p.empty)) for p in positional]
    parameters = ", ".join(["self", *bare, *(f"{name}=None" for name in names), "**others"])
    given = ", ".join(f'"{name}": {name}' for name in names)
    passed = "".join(f"{p.name}, " for p in positional)
    return f"""\
    def forward({parameters}):
        given = {{{given}}}
        others |= {{name: value for name, value in given.items() if value is not None}}
        return super().forward({passed}**others)
"""


def get_inputs(expressions: Sequence[str]) -> str:
    """Return the text of ``get_inputs``, with one expression per argument of the forward."""
    lines = "".join(f"        {text},\n" for text in expressions)
    return f"\n\ndef get_inputs():\n    return [\n{lines}    ]\n"


def sets_of_inputs(function: str, sets: Sequence[Sequence[str]]) -> str:
    """Return the text of a function that returns further sets of arguments, with the expressions of
    every set; no text where there are no sets."""
    lines = "".join(f"        [{', '.join(texts)}],\n" for texts in sets)
    return f"\n\ndef {function}():\n    return [\n{lines}    ]\n" if sets else ""


def get_init_inputs(arguments: Sequence[Any]) -> str:
    """Return the text of ``get_init_inputs``; it imports the modules that Expressions name."""
    found = [value.modules for value in arguments if isinstance(value, Expression)]
    modules = dict.fromkeys(module for each in found for module in each)
    imports = "".join(f"    import {module}\n" for module in modules) + ("\n" if modules else "")
    return f"\n\ndef get_init_inputs():\n{imports}    return {list(arguments)!r}\n"
