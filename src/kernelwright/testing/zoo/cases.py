"""Cases: a candidate file with the verdict that it must get, read from its docstring."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from kernelwright.core.candidate import Candidate
from kernelwright.core.errors import UsageError, nearest
from kernelwright.core.outcome import Status
from kernelwright.core.task import Task
from kernelwright.loaders import load

FOLDER = Path(__file__).parent
CHEATS, HONEST = "cheats", "honest"


@dataclass(frozen=True)
class Case:
    """One candidate, and what the judge owes it."""

    name: str
    folder: str
    """'cheats' or 'honest'."""
    summary: str
    """What it does, in one sentence."""
    task: str
    """The name of a file in ``tasks``."""
    devices: tuple[str, ...]
    expect: tuple[Status, ...] = (Status.PASSED,)
    """The statuses that it may get. A cheat that may pass is bound by the fields below."""
    max_speedup: float | None = None
    """The speedup over the strongest baseline that a passing cheat must stay below."""
    kinds: tuple[str, ...] = ()
    """The kinds of win that it must be found to be."""
    not_kinds: tuple[str, ...] = ()
    """The kinds of win that it must not be found to be."""
    warns: tuple[str, ...] = ()
    """One of these words must occur in the warnings of a passing verdict."""
    catalogue: str = ""
    """Rows of the catalogue of known cheats, such as 'T2, C3'."""
    dialect: str = "torch"
    threads: int = 0
    """CPU threads that the judge is told to grant; 0 means all."""
    requires: str = ""
    """A package without which it cannot run."""
    slow: bool = False
    """Takes more than ten seconds: a long build, or a wait for a time limit."""
    note: str = ""

    @property
    def path(self) -> Path:
        return FOLDER / self.folder / f"{self.name}.py"

    @property
    def is_cheat(self) -> bool:
        return self.folder == CHEATS

    @cached_property
    def candidate(self) -> Candidate:
        return Candidate(self.path.read_text(), self.dialect)

    def is_runnable(self) -> bool:
        """Whether the package that it requires is here."""
        return not self.requires or importlib.util.find_spec(self.requires) is not None


def cases(device: str = "cpu", folder: str | None = None) -> list[Case]:
    """The cases for a kind of device, cheats first, in order of their names.

    Raises:
        UsageError: a file's header cannot be read.
    """
    folders = (CHEATS, HONEST) if folder is None else (folder,)
    paths = [path for name in folders for path in sorted((FOLDER / name).glob("*.py"))]
    return [case for case in map(read_case, paths) if device in case.devices]


def task(name: str) -> Task:
    """The task in the file of that name in ``tasks``."""
    return load(str(FOLDER / "tasks" / f"{name}.py"))


def read_case(path: Path) -> Case:
    """The case in a file: a summary, an empty line, then one ``key: value`` per line.

    Raises:
        UsageError: an unknown key or status, or a key is missing.
    """
    docstring = ast.get_docstring(ast.parse(path.read_text())) or ""
    summary, _, header = docstring.partition("\n\n")
    values: dict[str, Any] = {}
    for line in header.splitlines():
        key, _, value = line.partition(": ")
        if key not in _READERS:
            raise UsageError(f'{path}: unknown key "{key}"', seen=line, do=nearest(key, _READERS))
        try:
            values[key] = _READERS[key](value)
        except ValueError as error:
            raise UsageError(f'{path}: "{line}"', seen=str(error), do="mend the header") from error
    missing = {"task", "devices"} - set(values)
    if path.parent.name == CHEATS:
        missing |= {"expect", "catalogue"} - set(values)
    if missing:
        raise UsageError(f"{path} lacks {', '.join(sorted(missing))}", do="add it to the docstring")
    return Case(name=path.stem, folder=path.parent.name, summary=summary, **values)


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split("|"))


def _statuses(text: str) -> tuple[Status, ...]:
    return tuple(map(Status, _words(text)))


_READERS: dict[str, Callable[[str], Any]] = {
    "task": str,
    "devices": _words,
    "expect": _statuses,
    "max_speedup": float,
    "kinds": _words,
    "not_kinds": _words,
    "warns": _words,
    "catalogue": str,
    "dialect": str,
    "threads": int,
    "requires": str,
    "slow": lambda text: text == "yes",
    "note": str,
}
