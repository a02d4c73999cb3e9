"""Finds the importable name of a file that is part of a package."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from kernelwright.core.errors import TaskError


@contextlib.contextmanager
def named_by_package(path: Path, entry: str) -> Iterator[None]:
    """Context for running a file: if it fails to import its own package, the error suggests a name.

    Raises:
        TaskError: the file failed; if its own package was missing, the error says how to name it.
    """
    try:
        yield
    except TaskError as error:
        folder, name = _place(path)
        absent = getattr(error.__cause__, "name", None) or ""
        is_own = _is_package(path.parent) and absent.partition(".")[0] == name.partition(".")[0]
        if not is_own and "relative import" not in error.seen:
            raise
        do = f"name it by its package, {name}:{entry}, in the folder {os.path.relpath(folder)}"
        raise TaskError(error.what, seen=error.seen, do=do) from error


def _place(path: Path) -> tuple[Path, str]:
    """Return the folder of a file's outermost package, and the file's dotted name from there.

    The file's own folder counts as a package even without ``__init__.py``, as a namespace package.
    """
    path = path.resolve()
    names, folder = [path.parent.name, path.stem], path.parent.parent
    while _is_package(folder):
        names.insert(0, folder.name)
        folder = folder.parent
    return folder, ".".join(names)


def _is_package(folder: Path) -> bool:
    return (folder / "__init__.py").is_file()
