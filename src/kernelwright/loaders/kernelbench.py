"""Loads KernelBench files, which define ``Model``, ``get_inputs`` and ``get_init_inputs``."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernelwright.core.errors import TaskError
from kernelwright.core.places import as_text, read_regular
from kernelwright.core.task import Task
from kernelwright.loaders.inlined import bundled
from kernelwright.loaders.packages import named_by_package
from kernelwright.loaders.reference import open_reference


class KernelBenchLoader:
    """Claims the path of a Python file."""

    def claims(self, target: Any) -> bool:
        return isinstance(target, (str, Path)) and str(target).endswith(".py")

    def load(
        self,
        target: str | Path,
        *,
        inputs: Any = None,
        init: Any = None,
        kwargs: Mapping[str, Any] | None = None,
        name: str | None = None,
    ) -> Task:
        """Return the file's text as a task, after checking that it runs and has its three parts.

        The text is unchanged unless it imports other files of its author, which are inlined.

        Raises:
            TaskError: there is no such file, it cannot be imported, a part is missing, or arguments
                were given that the file makes itself.
        """
        path = Path(target)
        if inputs is not None or init is not None or kwargs is not None:
            raise TaskError(
                f"{path.name} makes its own inputs, but others were given",
                seen=f"inputs {inputs!r}, constructor arguments {init or kwargs!r}"[:300],
                do=f"leave them out, or name a class: {path.name}:Class",
            )
        task = read_task(path, name=name)
        with named_by_package(path, task.entry):
            open_reference(task)
        return bundled(task)


def read_task(path: Path, *, name: str | None = None) -> Task:
    """Read the task in a KernelBench-format file without running it."""
    roots = (str(path.resolve().parent),)
    return Task(name or as_text(path.stem), "kernelbench", read_source(path), import_roots=roots)


def read_source(path: Path) -> str:
    """Read the text of a Python file.

    Raises:
        TaskError: there is no such file (the message names the nearest one), or it cannot be read
            as text.
    """
    try:
        return read_regular(path)
    except FileNotFoundError as error:
        beside = [p.name for p in path.parent.glob("*.py")] if path.parent.is_dir() else []
        close = difflib.get_close_matches(path.name, beside, n=1)
        do = f'did you mean "{path.parent / close[0]}"?' if close else "check the path"
        raise TaskError(f"no such file: {path}", seen=str(path.resolve()), do=do) from error
    except (OSError, ValueError) as error:
        raise TaskError(
            f"{path} cannot be read", seen=str(error), do="give a readable Python file in UTF-8"
        ) from error
