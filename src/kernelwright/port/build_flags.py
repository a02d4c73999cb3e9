"""Include paths and macros of a project's files, from its compile database or its folders."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from kernelwright.core.errors import UsageError

DATABASE = "compile_commands.json"
CACHE = "CMakeCache.txt"
"""File that CMake writes at the top of a build tree. Source: cmake(1)."""
N_FOLDERS = 80
"""Limit on the header folders with which a file outside any database is compiled: some trees have
hundreds."""
_FOLDERS = ("-I", "-isystem", "-iquote", "--include-path")
_ANSWERS = ("--options-file", "-optf")
"""nvcc's options for response files. Source: nvcc --help, CUDA 13."""


@dataclass(frozen=True)
class Flags:
    """The flags that a file is compiled with."""

    includes: tuple[Path, ...] = ()
    defines: tuple[str, ...] = ()

    def with_folder(self, folder: Path) -> Flags:
        """Return these flags for a file in ``folder``, which is searched first for its quoted
        includes."""
        return Flags((folder, *self.includes), self.defines)

    def at(self, root: Path, written: Path) -> Flags:
        """Return these flags for the port of ``root`` under ``written``. Each folder is preceded by
        the folder of its ported headers; the original folders still hold headers that needed no
        port."""
        includes: list[Path] = []
        for path in self.includes:
            includes += [written / path.relative_to(root)] if path.is_relative_to(root) else []
            includes.append(path)
        return Flags(tuple(includes), self.defines)


NO_FLAGS = Flags()


def build_flags(root: Path, out: Path) -> dict[Path, Flags]:
    """Return flags by source file, from the database in ``root`` or in a build folder directly
    below it.

    The database of a port in ``out`` is ignored.

    Raises:
        UsageError: the file is not a compile database.
    """
    places = [root / DATABASE, *sorted(root.glob(f"*/{DATABASE}"))]
    apart = (place for place in places if place.parent.resolve() != out.resolve())
    database = next((place for place in apart if place.exists()), None)
    if database is None:
        return {}
    try:
        return dict(_read(database))
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise UsageError(
            f"{database} is not a compile database",
            seen=f"{type(error).__name__}: {error}"[:200],
            do="make it again (cmake -DCMAKE_EXPORT_COMPILE_COMMANDS=ON), or move it away",
        ) from error


def nearest_folders(folders: Iterable[Path], folder: Path) -> Flags:
    """Return flags for a file in ``folder`` that no database has: the folders of the project's
    headers, those that share most of its path first, at most N_FOLDERS of them."""

    def apart(other: Path) -> int:
        shared = sum(a == b for a, b in zip(other.parts, folder.parts, strict=False))
        return len(folder.parts) - shared + len(other.parts) - shared

    return Flags(tuple(sorted(folders, key=apart)[:N_FOLDERS]))


def database_of(units: Mapping[Path, Flags], under: Path, compiler: str) -> str:
    """Return the text of the ported files' compile database, which the way back needs for their
    macros."""
    entries = [
        {
            "directory": str(under.resolve()),
            "file": str(unit.resolve()),
            "arguments": [
                compiler,
                *(f"-I{path}" for path in flags.includes),
                *(f"-D{define}" for define in flags.defines),
                "-c",
                str(unit.resolve()),
            ],
        }
        for unit, flags in units.items()
    ]
    return json.dumps(entries, indent=1)


def is_built(path: Path, root: Path) -> bool:
    """Return whether a file belongs to a build or to version control, not to the project."""
    for folder in path.relative_to(root).parents:
        if folder.name.startswith(".") or (folder.name and (root / folder / CACHE).exists()):
            return True
    return False


def _read(database: Path) -> Iterator[tuple[Path, Flags]]:
    entries = json.loads(database.read_text())
    if not isinstance(entries, list):
        raise TypeError("not a list")
    for entry in entries:
        at = database.parent / entry["directory"]
        words = list(_words(entry.get("arguments") or shlex.split(entry["command"]), at))
        includes = (at / folder for folder in _valued(words, _FOLDERS))
        defines = tuple(_valued(words, ("-D",)))
        yield (at / entry["file"]).resolve(), Flags(tuple(p.resolve() for p in includes), defines)


def _words(words: list[str], at: Path) -> Iterator[str]:
    """Yield the words of a command, including those of its response files."""
    rest = iter(words)
    for word in rest:
        named = word[1:] if word.startswith("@") else next(rest, "") if word in _ANSWERS else ""
        if named and (at / named).exists():
            yield from _words(shlex.split((at / named).read_text()), at)
        else:
            yield word


def _valued(words: list[str], options: tuple[str, ...]) -> Iterator[str]:
    """Yield the values of options, written together with them or as the next word."""
    rest = iter(words)
    for word in rest:
        option = next((o for o in options if word.startswith(o)), None)
        if option is not None:
            yield word.removeprefix(option).removeprefix("=") or next(rest, "")
