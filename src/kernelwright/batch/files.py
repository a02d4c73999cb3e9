"""The candidate files of a folder, and the task of a suite that each of them is for."""

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
from kernelwright.search.result import AtShape
from kernelwright.suites.naming import entry_for
from kernelwright.suites.suite import SuiteEntry


@dataclass(frozen=True)
class CandidateFile:
    """A candidate's file with its verdict, or with the reason why it has none."""

    name: str
    """The file's path relative to the folder; bytes that are not text are escaped."""
    candidate: Candidate | None = None
    evaluation: Evaluation | None = None
    by_shape: tuple[AtShape, ...] = ()
    """The verdicts on all shapes that the task lists, the main one first; empty for a task of one
    shape, and for a candidate that fails on the main one."""
    error: KernelwrightError | None = None
    """The reason why the file cannot be read or its task cannot be judged."""

    @property
    def is_settled(self) -> bool:
        return self.evaluation is not None or self.error is not None


@dataclass(frozen=True)
class Batch:
    """The files for one task with their verdicts; some have none if judging was interrupted."""

    task: Task
    files: tuple[CandidateFile, ...]
    interrupted: bool = False


@dataclass(frozen=True)
class BatchProgress:
    """The state of a batch that is being judged."""

    task: str
    n_done: int
    n_all: int
    doing: str


OnProgress = Callable[[BatchProgress], None]


def read_folder(
    folder: Path, *, entry: str, task_file: Path | None = None, deep: bool = False
) -> list[CandidateFile]:
    """Read the candidates in a folder, in order of name; ``deep`` includes its subfolders.

    Files whose names begin with a dot or an underscore are left out, and so is ``task_file``, which
    may lie beside its candidates. A file that cannot be read is returned with an error.

    Raises:
        UsageError: the folder contains no candidates.
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


def _read(path: Path, name: str, entry: str) -> CandidateFile:
    try:
        return CandidateFile(name, replace(api.read_candidate(path), entry=entry))
    except KernelwrightError as error:
        return CandidateFile(name, error=error)


def assign(
    files: Sequence[CandidateFile], entries: Sequence[SuiteEntry]
) -> tuple[list[tuple[SuiteEntry, list[CandidateFile]]], list[str]]:
    """Return the suite's entries that have files, in order, and the names of unmatched files."""
    by_entry: dict[SuiteEntry, list[CandidateFile]] = {}
    unmatched = []
    for file in files:
        found = entry_for(PurePath(file.name), entries)
        if found is None:
            unmatched.append(file.name)
        else:
            by_entry.setdefault(found, []).append(file)
    return [(entry, by_entry[entry]) for entry in entries if entry in by_entry], unmatched
