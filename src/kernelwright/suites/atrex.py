"""Atrex-Bench: operators of language models, with the shapes that servers run them on.

Source:
    alibaba/atrex-bench, ``data/README.md``: ``reference.py`` holds ``class Model``, ``input.py``
    holds ``_make_inputs``, and ``shapes.json`` the arguments of both, by the names of the shapes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from kernelwright.core.errors import TaskError
from kernelwright.core.task import Task
from kernelwright.loaders.kernelbench import read_source
from kernelwright.suites.device_text import on_any_device

NAME = "atrex"
CHECKOUT = "https://github.com/alibaba/atrex-bench"
_PARTS = ("reference.py", "input.py", "shapes.json")
_TEXT = '''"""{operator} of Atrex-Bench on its shape {shape}."""

import inspect

{reference}

{inputs}

_INIT = {init!r}
_SIZES = {sizes!r}


def _in_order(function, given):
    """The named arguments in the order of the function's parameters."""
    names = list(inspect.signature(function).parameters.values())[1:]
    return [given[one.name] if one.name in given else one.default for one in names]


def get_init_inputs():
    return _in_order(Model.__init__, _INIT)


def get_inputs():
    return _in_order(Model.forward, _make_inputs(**_SIZES))
'''


class Shape(msgspec.Struct):
    """The arguments of the class and of the function that makes the inputs."""

    init_kwargs: dict[str, Any] | None = None
    input_kwargs: dict[str, Any] | None = None


def tasks(path: Path) -> Iterator[tuple[str, Task]]:
    """Yield each operator's name with a task for each of its shapes. Files are read but not run.

    Raises:
        TaskError: ``path`` is not a checkout, or a file of an operator cannot be read.
    """
    for folder in _operators(path):
        reference, inputs, listed = (folder / part for part in _PARTS)
        shapes = _shapes(listed)
        texts = [_text(file) for file in (reference, inputs)]
        for name, shape in shapes.items():
            source = _TEXT.format(
                operator=folder.name,
                shape=name,
                reference=texts[0],
                inputs=texts[1],
                init=shape.init_kwargs or {},
                sizes=shape.input_kwargs or {},
            )
            yield folder.name, Task(f"{folder.name}_{name}", NAME, source)


def _operators(path: Path) -> list[Path]:
    """The folders of a checkout, of its ``data``, or of one operator."""
    for root in (path / "data", path):
        found = [file.parent for file in sorted(root.glob(f"*/{_PARTS[-1]}"))]
        if found:
            return found
    if (path / _PARTS[-1]).is_file():
        return [path]
    raise TaskError(
        f"{path} is not a checkout of Atrex-Bench",
        seen="no data/*/shapes.json in it" if path.is_dir() else "no such folder",
        do=f"git clone {CHECKOUT} and give its path",
    )


def _shapes(file: Path) -> dict[str, Shape]:
    try:
        return msgspec.json.decode(file.read_bytes(), type=dict[str, Shape])
    except (OSError, msgspec.MsgspecError) as error:
        raise TaskError(
            f"{file} holds no shapes", seen=str(error), do=f"take the file anew from {CHECKOUT}"
        ) from error


def _text(file: Path) -> str:
    try:
        return on_any_device(read_source(file)).strip()
    except SyntaxError as error:
        raise TaskError(
            f"{file} is not Python", seen=str(error), do=f"take the file anew from {CHECKOUT}"
        ) from error
