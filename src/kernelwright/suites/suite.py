"""Whole suites of tasks: the built-in ones, those of others, and any folder of files."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelwright.core.device import Device
from kernelwright.core.errors import TaskError, UsageError, nearest
from kernelwright.core.task import Task
from kernelwright.loaders.kernelbench import read_task
from kernelwright.suites import atrex, definitions

BUILTIN, MODELS = "builtin", "models"
OWN = (BUILTIN, MODELS)
"""Suites that come with the package, each in the folder of its name."""
PATHS = {
    "kernelbench": "KernelBench checkout",
    "folder": "folder of tasks",
    atrex.NAME: "checkout of Atrex-Bench",
    definitions.FIB: "folder of FlashInfer-Bench",
    definitions.SOL: "folder of SOL-ExecBench problems",
}
"""The kind of folder that ``path`` must be, by the name of the suite."""
SUITES = (*OWN, *PATHS)
LEVELS = (1, 2, 3)
"""KernelBench's levels by default; the fourth has models whose weights are downloaded."""
SIZES = ("small", "cpu", "gpu")
SIZE_LINE = 'SIZE = "cpu"\n'
"""The line of a built-in task that says which of its ``SIZES`` is used."""
MANIFEST = "composed.json"
"""Name of the file in a folder of composed tasks that records how they were composed."""
_PROBLEM = re.compile(r"(?P<number>\d+)_.*\.py")


@dataclass(frozen=True)
class SuiteEntry:
    """A task and its place in a suite. The task's text has been read but not run."""

    level: str
    """Its group within the suite: KernelBench's level, '1' to '4'; the operator's family in the
    suite of models; the operator or definition whose shape it is, in Atrex-Bench, FlashInfer-Bench
    and SOL-ExecBench; else the suite's own name."""
    problem: int
    name: str
    task: Task


def suite_entries(
    suite: str,
    *,
    device: str,
    path: Path | None = None,
    levels: Sequence[int] = (),
    problems: Sequence[str] = (),
    every: int = 1,
) -> list[SuiteEntry]:
    """Return the tasks of one of ``SUITES``: all, or only these levels or problems, or every
    ``every``-th. A problem is given by its number, its name, or the group that it belongs to.

    Raises:
        UsageError: options that do not fit the suite, or a problem that it does not have.
        TaskError: ``path`` does not hold such a suite.
    """
    if suite not in OWN and path is None:
        raise UsageError(f"which {PATHS[suite]}?", do="add --path DIR", seen="no --path")
    if suite != "kernelbench" and levels:
        raise UsageError(
            "only kernelbench has levels",
            seen=f"levels {', '.join(map(str, levels))} of {suite}",
            do="leave the levels out",
        )
    if suite in OWN and path:
        raise UsageError("the built-in tasks have no path", seen=str(path), do="leave the path out")
    if path is None:
        entries = builtin_suite(device, suite=suite)
    elif suite == "folder":
        entries = folder_suite(path)
    elif suite == "kernelbench":
        entries = kernelbench_suite(path, levels or LEVELS)
    else:
        entries = shapes_suite(suite, path)
    known = {word for entry in entries for word in _words(entry)}
    for problem in problems:
        if problem not in known:
            raise UsageError(
                f'no problem "{problem}" in the suite', seen=problem, do=nearest(problem, known)
            )
    chosen = [e for e in entries if not problems or _words(e) & set(problems)]
    return [e for e in chosen if (e.problem - 1) % every == 0]


def _words(entry: SuiteEntry) -> set[str]:
    """The names that a user may give to the entry. A level of KernelBench has its own option."""
    words = {str(entry.problem), entry.name}
    return words if entry.level.isdigit() else words | {entry.level}


def builtin_suite(
    device: str | Device = "cpu", *, size: str | None = None, suite: str = BUILTIN
) -> list[SuiteEntry]:
    """Return the tasks of a suite that comes with the package, in alphabetical order.

    ``size`` is one of ``SIZES``; by default it is the one meant for ``device``. 'small' is for
    checking correctness: every kernel on it takes less time than its launch.

    Raises:
        UsageError: no such size.
    """
    if size is None:
        kind = Device.parse(device).kind if isinstance(device, str) else device.kind
        size = "cpu" if kind == "cpu" else "gpu"
    if size not in SIZES:
        raise UsageError(f'no size "{size}"', seen=size, do=nearest(size, SIZES))
    root = Path(__file__).with_name(suite)
    entries = []
    for number, file in enumerate(sorted(root.glob("*/*.py")), start=1):
        family = file.parent.name
        level, name = (family, f"{family}_{file.stem}") if suite == MODELS else (suite, family)
        entries.append(SuiteEntry(level, number, name, _own_task(file, name, size)))
    return entries


def _own_task(file: Path, name: str, size: str) -> Task:
    task = read_task(file, name=name)
    source = task.source.replace(SIZE_LINE, SIZE_LINE.replace("cpu", size), 1)
    return dataclasses.replace(task, origin="builtin", source=source, import_roots=())


def kernelbench_suite(
    path: str | Path,
    levels: Sequence[int | str] = LEVELS,
    *,
    problems: Sequence[int] | None = None,
) -> list[SuiteEntry]:
    """Return the problems of a KernelBench checkout by level and number; all of them, or
    ``problems``.

    Files are read but not run: if a problem lacks something (a package, memory), opening it says
    so.

    Raises:
        TaskError: ``path`` is not a checkout, or has no such level or problem.
    """
    root = _kernelbench_root(Path(path))
    entries = []
    for level in levels:
        folder = root / f"level{level}"
        if not folder.is_dir():
            there = sorted(found.name for found in root.glob("level*"))
            raise TaskError(
                f"no level {level} in {root}", seen=", ".join(there), do="choose one of these"
            )
        files = [(int(m["number"]), f) for f in folder.iterdir() if (m := _match(f))]
        for number, file in sorted(files):
            if problems is None or number in problems:
                entries.append(SuiteEntry(str(level), number, file.stem, read_task(file)))
    if not entries:
        raise TaskError(
            f"no such problem in {root}",
            seen=f"problems {problems} of levels {levels}",
            do="give numbers that the files of the level begin with",
        )
    return entries


def folder_suite(path: str | Path) -> list[SuiteEntry]:
    """Return the tasks of a folder, one per file, in alphabetical order. Files are read but not
    run.

    Raises:
        TaskError: no such folder, or no Python file in it.
    """
    folder = Path(path)
    files = sorted(folder.glob("*.py"))
    if not files:
        raise TaskError(
            f"{folder} holds no tasks",
            seen="no *.py in it" if folder.is_dir() else "no such folder",
            do="give a folder of KernelBench-format files; for a checkout: --suite kernelbench",
        )
    origin = "composed" if (folder / MANIFEST).exists() else "folder"
    return [
        SuiteEntry("folder", n, f.stem, dataclasses.replace(read_task(f), origin=origin))
        for n, f in enumerate(files, start=1)
    ]


def shapes_suite(suite: str, path: str | Path) -> list[SuiteEntry]:
    """Return the tasks of a suite that lists shapes for each of its operators, one per shape. Where
    two folders hold the same task, it is one.

    Raises:
        TaskError: ``path`` does not hold such a suite.
    """
    folder = Path(path)
    found = atrex.tasks(folder) if suite == atrex.NAME else definitions.tasks(suite, folder)
    tasks = {task.digest: (level, task) for level, task in found}
    return [
        SuiteEntry(level, n, task.name, task)
        for n, (level, task) in enumerate(tasks.values(), start=1)
    ]


def _match(file: Path) -> re.Match[str] | None:
    return _PROBLEM.fullmatch(file.name)


def _kernelbench_root(path: Path) -> Path:
    """Return the folder with ``level1``, ``level2``, ...: a checkout's KernelBench/, or that
    itself."""
    for root in (path / "KernelBench", path):
        if any(root.glob("level[0-9]/*.py")):
            return root
    raise TaskError(
        f"{path} is not a KernelBench checkout",
        seen="no KernelBench/level1/*.py in it" if path.is_dir() else "no such folder",
        do="git clone https://github.com/ScalingIntelligence/KernelBench and give its path",
    )
