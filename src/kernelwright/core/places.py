"""Places in the file system: their names as text, whether they can be read or written, and how."""

from __future__ import annotations

import os
import secrets
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kernelwright.core.errors import UsageError

HEAD_BYTES = 4096
"""The beginning of a file, in which its mark is looked for."""
MAX_CHARACTERS = 4_000_000
"""Of a task's or a candidate's file; the longest that a search writes have some ten thousand."""
SITES = ("site-packages", "dist-packages")
"""Names of the folders whose packages every process can import."""


def as_text(path: Path | str) -> str:
    """A path as text that can be stored and shown: bytes in it that are no text are escaped."""
    return os.fsencode(path).decode(errors="backslashreplace")


def read_regular(path: Path | str) -> str:
    """A file's text; a pipe is not waited for, and a device without end not read.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no regular file, no text in UTF-8, or far too long.
    """
    # Some editors write a mark first.
    with open(path, encoding="utf-8-sig", opener=_without_waiting) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError("it is no regular file")
        text = file.read(MAX_CHARACTERS + 1)
    if len(text) > MAX_CHARACTERS:
        raise ValueError(f"it has more than {MAX_CHARACTERS:,} characters")
    return text


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


def require_folder(folder: Path | str, *, wanted: Path | str | None = None) -> None:
    """Nothing where files can be written to a folder, which is made: asked before what takes long.

    Raises:
        OSError: they cannot; it names the file ``wanted`` there, or the folder.
    """
    Path(folder).mkdir(parents=True, exist_ok=True)
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        error.filename = str(wanted or folder)  # nobody knows the temporary one
        raise


def require_file(path: Path | str, kind: str, mark: str) -> None:
    """Nothing where ``path`` can be written: it is free, empty, or a file of ours, whose beginning
    has the ``mark`` of its ``kind``. Asked before what takes long; folders on the way are made.

    Raises:
        UsageError: another file is there.
        OSError: it cannot be written.
    """
    path = Path(path)
    require_folder(path.parent, wanted=path)
    if not path.exists():
        return
    with path.open("r+b") as file:
        head = file.read(HEAD_BYTES)
    if not path.is_file() or (head and mark.encode() not in head):
        raise UsageError(
            f"{path} is there, and is no {kind} of kernelwright's",
            seen=f"a file that begins with {head[:24]!r}",
            do="name another place, or move that file away",
        )


@contextmanager
def written_whole(path: Path | str) -> Iterator[Path]:
    """A partial file to write, which takes the place of ``path`` at the end: a stop in the middle
    leaves what was there."""
    path = Path(path).resolve()
    partial = path.with_name(f".{secrets.token_hex(8)}.partial")  # its own may be as long as any
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def holds_installed_packages(folder: str) -> bool:
    """Whether packages are installed there: by pip, as with ``--target``, or as what a ``.pth``
    file or an editable installation names. The working folder never counts: what else lies in it
    is the user's own."""
    path = Path(folder).absolute()
    is_installed = any(path.glob("*.dist-info")) or str(path) in installed_by_name()
    return path != Path.cwd() and is_installed


def installed_by_name() -> frozenset[str]:
    """The folders that path files (``*.pth``) and finders of editable installations name, from
    which every process of this Python imports."""
    found: set[Path] = set()
    for entry in filter(lambda entry: entry.endswith(SITES), sys.path):
        for file in Path(entry).glob("*.pth"):
            lines = file.read_text(errors="replace").splitlines()
            named = {os.path.abspath(os.path.join(entry, line)) for line in lines if line.strip()}
            found.update(map(Path, named.intersection(sys.path)))
    for name, module in list(sys.modules.items()):
        if name.startswith("__editable___"):  # setuptools' finder of packages in a project's folder
            places = getattr(module, "MAPPING", {}).values()
            found.update(
                Path(place) if Path(place).is_dir() else Path(place).parent for place in places
            )
    return frozenset(str(path.absolute()) for path in found if path.is_dir())
