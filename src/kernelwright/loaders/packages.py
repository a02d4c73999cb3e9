"""Files that are parts of a package: by which name they can be given."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from kernelwright.core.errors import TaskError


@contextlib.contextmanager
def named_by_package(path: Path, entry: str) -> Iterator[None]:
    """Around the running of a file: one that fails to import its own package is told its name."""
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
    """The folder that the outermost package of a file is in, and the file's name from there on.

    The file's own folder is a package without ``__init__.py`` too: a namespace.
    """
    path = path.resolve()
    names, folder = [path.parent.name, path.stem], path.parent.parent
    while _is_package(folder):
        names.insert(0, folder.name)
        folder = folder.parent
    return folder, ".".join(names)


def _is_package(folder: Path) -> bool:
    return (folder / "__init__.py").is_file()
