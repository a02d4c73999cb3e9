"""The files of a folder as cases, and which task of a suite each is about."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath

from kernelwright import api
from kernelwright.core.candidate import Candidate
from kernelwright.core.errors import KernelwrightError, UsageError
from kernelwright.core.evaluation import Evaluation
from kernelwright.core.places import as_text
from kernelwright.core.task import Task
from kernelwright.suites.naming import entry_for
from kernelwright.suites.suite import SuiteEntry


@dataclass(frozen=True)
class Case:
    """One file: a candidate with its verdict, or why there is none."""

    name: str
    """The file's path from the folder on; bytes in it that are no text are escaped."""
    candidate: Candidate | None = None
    evaluation: Evaluation | None = None
    error: KernelwrightError | None = None
    """Why the file cannot be read, or its task cannot be judged."""

    @property
    def is_settled(self) -> bool:
        return self.evaluation is not None or self.error is not None


@dataclass(frozen=True)
class Docket:
    """The files for one task with what became of each; undecided ones where it was stopped."""

    task: Task
    cases: tuple[Case, ...]
    interrupted: bool = False


@dataclass(frozen=True)
class Step:
    """What is told while files are judged."""

    task: str
    n_done: int
    n_all: int
    doing: str


OnStep = Callable[[Step], None]


def read_folder(
    folder: Path, *, entry: str, task_file: Path | None = None, deep: bool = False
) -> list[Case]:
    """The candidates in a folder, by name; with ``deep``, those in the folders below it too.

    Left out are files whose names begin with a dot or an underscore, and ``task_file``, for a
    task that lies beside its candidates. A file that cannot be read is a case with an error.

    Raises:
        UsageError: there are none.
    """
    paths = sorted(folder.rglob("*.py") if deep else folder.glob("*.py"))
    task = None if task_file is None else os.path.realpath(task_file)
    wanted = [p for p in paths if p.name[0] not in "._" and os.path.realpath(p) != task]
    if not wanted:
        raise UsageError(
            f"no candidates in {folder}",
            seen="no *.py files" if folder.is_dir() else "no such folder",
            do="name a folder of Python files that define the entry",
        )
    return [_read(path, as_text(path.relative_to(folder)), entry) for path in wanted]


def _read(path: Path, name: str, entry: str) -> Case:
    try:
        return Case(name, replace(api.read_candidate(path), entry=entry))
    except KernelwrightError as error:
        return Case(name, error=error)


def assign(
    cases: Sequence[Case], entries: Sequence[SuiteEntry]
) -> tuple[list[tuple[SuiteEntry, list[Case]]], list[str]]:
    """The cases of every entry that has some, in the suite's order, and the names for none."""
    by_entry: dict[SuiteEntry, list[Case]] = {}
    unmatched = []
    for case in cases:
        found = entry_for(PurePath(case.name), entries)
        if found is None:
            unmatched.append(case.name)
        else:
            by_entry.setdefault(found, []).append(case)
    return [(entry, by_entry[entry]) for entry in entries if entry in by_entry], unmatched
