"""Loaders turn files, modules and functions into a Task; a Reference runs the task's own code.

``load(target)`` asks each loader of the group ``kernelwright.loaders`` whether it claims the
target; ``open_reference(task)`` executes the task's text and builds its module and inputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from kernelwright.core import plugins
from kernelwright.core.errors import TaskError
from kernelwright.core.task import Task
from kernelwright.loaders.reference import Reference, check, open_reference

__all__ = ["Loader", "Reference", "check", "load", "open_reference"]

GROUP = "kernelwright.loaders"


class Loader(Protocol):
    """One kind of target. Claims must not overlap: the first that claims is used."""

    def claims(self, target: Any) -> bool:
        """Whether this loader understands ``target``; looks at its form, opens nothing."""
        ...

    def load(
        self,
        target: Any,
        *,
        inputs: Any = None,
        init: Any = None,
        kwargs: Mapping[str, Any] | None = None,
        name: str | None = None,
    ) -> Task:
        """Return the task.

        Raises:
            TaskError: the target cannot be made into a task.
        """
        ...


def load(
    target: Any,
    *,
    inputs: Sequence[Any] | Any = None,
    init: Sequence[Any] | Mapping[str, Any] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    name: str | None = None,
) -> Task:
    """Make a task from ``target`` without allocating its inputs or running a module.

    ``target`` is the path of a KernelBench-format file, ``file.py:Class``,
    ``package.module.Class``, an ``nn.Module`` (instance or class) or a function. ``inputs``, a list
    or a mapping by name, are input specs (``"float32[64,1024]"``), tensors and scalars to imitate,
    lists, tuples and dictionaries of these, or a callable that makes them all. ``init`` (a list, a
    mapping, or the text of a call's arguments) and ``kwargs`` are the constructor's arguments.

    Raises:
        TaskError: no loader claims the target, or it cannot be made into a task.
    """
    for loader_name in plugins.names(GROUP):
        loader: Loader = plugins.find(GROUP, loader_name)
        if loader.claims(target):
            return loader.load(target, inputs=inputs, init=init, kwargs=kwargs, name=name)
    raise TaskError(
        f"no loader accepts {target!r}",
        seen=_seen(target),
        do="give a KernelBench-format file.py, file.py:Class, package.module.Class, "
        "or (from Python) an nn.Module or a function; for a KernelBench checkout: "
        "--suite kernelbench --path FOLDER",
    )


def _seen(target: Any) -> str:
    if not isinstance(target, (str, Path)):
        return f"a {type(target).__name__}"
    if Path(target).is_dir():
        return "a folder"
    is_there = Path(target).exists()
    return "a file whose name does not end in .py" if is_there else "no such file or folder"
