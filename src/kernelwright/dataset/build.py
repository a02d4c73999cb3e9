"""Builds a dataset from archives: leaves out tasks that repeat a test, and splits by structure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from kernelwright.archive import Archive
from kernelwright.core.errors import UsageError
from kernelwright.core.task import Task
from kernelwright.dataset import cards
from kernelwright.dataset.card import write_card
from kernelwright.dataset.contents import Dataset, LeftOut
from kernelwright.dataset.grid import Measured, open_grid
from kernelwright.dataset.pairs import SPLITS, Pair, write_pairs
from kernelwright.dataset.parquet import arrow
from kernelwright.dataset.rows import (
    Drawing,
    History,
    KeptTask,
    chosen,
    lessons,
    measured_lessons,
)
from kernelwright.judge import SharedForkServer
from kernelwright.loaders.kernelbench import read_task
from kernelwright.loaders.structure import KnownStructures, Structure, structure
from kernelwright.suites.suite import builtin_suite
from kernelwright.workers.side_by_side import side_by_side
from kernelwright.workers.workers import Workers

AT_ONCE = 32
"""Tasks whose structures one piece of work finds: a hundredth of a second to a second each."""
KEEP = 8
"""Default number of candidates that are kept of a task in each dialect on each device."""
TEMPERATURE, CONTRAST = 0.1, 1.25
"""Defaults of a grid's lessons: a schedule that is 7 % faster is twice as likely, and kernels that
a prompt shows differ by a factor that noise does not bring."""
VALIDATION_SHARE = 0.1
"""Share of structures in the validation split, chosen by digest so that every build agrees."""
TESTS = ("level1", "level2", "level3", "level4")
"""KernelBench's folders. If a folder has none of them, every file in it is a test."""


@dataclass(frozen=True)
class Grids:
    """Grids of measured schedules to learn from, and how lessons are drawn from them."""

    paths: Sequence[str | Path] = ()
    temperature: float = TEMPERATURE
    """Low: nearly only the fastest schedules; infinite: all alike (``Drawing``)."""
    contrast: float = CONTRAST
    """Smallest ratio of the speeds of two kernels that a prompt shows."""

    def __post_init__(self) -> None:
        """Check the numbers; NaN fails both comparisons.

        Raises:
            UsageError: one is out of range.
        """
        if not self.temperature > 0:
            raise UsageError(
                "no schedule can be drawn",
                seen=f"temperature {self.temperature}",
                do="give a number above 0, or inf to draw all alike",
            )
        if not self.contrast >= 1:
            raise UsageError(
                "the contrast is out of range",
                seen=f"{self.contrast}",
                do="give the ratio of the faster to the slower kernel, 1 or more",
            )


def build_dataset(
    archives: Sequence[str],
    *,
    out: str | Path,
    exclude: Sequence[str | Path] = (),
    keep: int = KEEP,
    grids: Grids | None = None,
    command: str = "kernelwright dataset build",
    on_done: Callable[[str], None] = lambda text: None,
    workers: Workers | None = None,
) -> Dataset:
    """Write the judged candidates of ``archives`` as pairs to ``out``, with a data card.

    At most ``keep`` candidates are kept of a task in each dialect on each device, and as many
    measured schedules of each program of ``grids``. A task is left out if its structure repeats a
    built-in task or a task in a folder of ``exclude``. ``workers`` find the structures, such as
    those of a cluster; None: this process does.

    Raises:
        UsageError: there is neither archive nor grid, a folder has no tasks, ``out`` contains a
            README.md that kernelwright did not write, or pyarrow is missing.
        ArchiveError: an archive cannot be read.
        OSError: ``out`` is not writable.
    """
    grids, folder = grids or Grids(), Path(out)
    _require_sources([*archives, *map(str, grids.paths)], keep)
    cards.require_place(folder)
    tests = KnownStructures(excluded_tasks(exclude))
    on_done(f"{len(tests)} test tasks are excluded")
    found: dict[str, _ArchivedTask] = {}
    for url in archives:
        _gather(url, found)
    for path in grids.paths:
        _gather_measured(path, found)
    if workers is not None:
        _find_structures([*found.values()], workers)
    left, learnt = [], []
    for entry in sorted(found.values(), key=lambda entry: entry.task.digest):
        reason = _reason(entry, tests)
        on_done(f"{entry.task.name}: {reason.reason if reason else 'kept'}")
        left += [reason] if reason else []
        learnt += [] if reason else [entry]
    pairs: list[Pair] = []
    for entry, split in zip(learnt, _splits([entry.structure for entry in learnt]), strict=True):
        kept = entry.kept_task(split, keep)
        pairs += lessons(kept)
        pairs += measured_lessons(kept, Drawing(keep, grids.temperature, grids.contrast))
    write_pairs(pairs, folder)
    dataset = Dataset(tuple(pairs), tuple(left), len(tests), folder)
    sources = [*archives, *map(str, grids.paths)]
    write_card(dataset, archives=sources, exclude=exclude, keep=keep, command=command)
    return dataset


def _require_sources(sources: Sequence[str], keep: int) -> None:
    """Check that there is something to build a dataset from.

    Raises:
        UsageError: there is not, or pyarrow is missing.
    """
    arrow()
    if not sources:
        raise UsageError(
            "neither an archive nor a grid is given",
            seen="no --archive and no --grid",
            do="add --archive FILE or --grid DIR",
        )
    if keep < 1:
        raise UsageError(
            "the dataset would be empty", seen=f"--keep {keep}", do="give --keep 1 or more"
        )


def excluded_tasks(exclude: Sequence[str | Path]) -> list[Task]:
    """Return the built-in tasks and the tasks in the folders of ``exclude``.

    The folders are KernelBench checkouts or folders of task files.

    Raises:
        UsageError: a folder contains no tasks.
    """
    tasks = [entry.task for entry in builtin_suite("cpu", size="small")]
    for folder in map(Path, exclude):
        files = [f for level in TESTS for f in sorted(folder.rglob(f"{level}/*.py"))]
        files = files or sorted(folder.glob("*.py"))
        if not files:
            raise UsageError(
                f"{folder} contains no tasks to exclude",
                seen="no level1/*.py and no *.py in it" if folder.is_dir() else "no such folder",
                do="give a KernelBench checkout, or a folder of task files",
            )
        tasks += [read_task(file) for file in files]
    return tasks


@dataclass
class _ArchivedTask:
    """A task with its history in each archive, and its rows of grids."""

    task: Task
    histories: list[tuple[str, History]]
    """(archive URL, history) of each archive that contains the task."""
    is_examined: bool = False
    """Whether an archive contains an exam of a checkpoint on this task."""
    measured: list[Measured] = field(default_factory=list)
    known: Structure | None = None
    """Its structure, once it has been found."""

    @property
    def structure(self) -> Structure:
        if self.known is None:
            self.known = structure(self.task)
        return self.known

    def kept_task(self, split: str, keep: int) -> KeptTask:
        trace = self.structure.trace
        judged = tuple(chosen(self.histories, keep))
        return KeptTask(self.task, trace, split, judged, tuple(self.measured))


def _gather(url: str, found: dict[str, _ArchivedTask]) -> None:
    with Archive(url, create=False) as archive:
        for task in archive.tasks():
            entry = found.setdefault(task.digest, _ArchivedTask(task, []))
            entry.histories.append((archive.url, archive.history(task.digest)))
            entry.is_examined |= archive.is_examined(task.digest)


def _gather_measured(path: str | Path, found: dict[str, _ArchivedTask]) -> None:
    for row in open_grid(path):
        entry = found.setdefault(row.task_digest, _ArchivedTask(row.task, []))
        entry.measured.append(row)


def _find_structures(entries: Sequence[_ArchivedTask], workers: Workers) -> None:
    """Let workers find the structures of tasks, which is most of the work on them."""
    parts = [entries[start : start + AT_ONCE] for start in range(0, len(entries), AT_ONCE)]

    def one(part: Sequence[_ArchivedTask]) -> None:
        work = partial(_structures, [entry.task for entry in part])
        ending = workers.run(work, preload=(__name__,), needs_device=False)
        found = ending.get("the reading of tasks", do="build the dataset without --cluster")
        for entry, each in zip(part, found, strict=True):
            entry.known = each

    side_by_side(one, parts, jobs=workers.jobs, on_interrupt=workers.interrupt)


def _structures(tasks: Sequence[Task], fork_server: SharedForkServer) -> list[Structure]:
    return [structure(task) for task in tasks]


def _reason(entry: _ArchivedTask, tests: KnownStructures) -> LeftOut | None:
    """Return the reason why a task gives no pairs; None if it gives some."""
    name, task = entry.task.name, entry.task
    if task.payload is not None or (task.import_roots and task.origin == "module"):
        return LeftOut(name, "not text")
    if not any(chosen(entry.histories, 1)) and not any(row.code for row in entry.measured):
        return LeftOut(name, "no verdict")
    if entry.is_examined:
        return LeftOut(name, "test", "examined")
    repeated = tests.repeated_by(entry.structure)
    return LeftOut(name, "test", repeated) if repeated else None


def _splits(structures: Iterable[Structure]) -> list[str]:
    """Assign a split to each structure; structures that repeat one another get the same split."""
    firsts: list[tuple[Structure, str]] = []
    splits = []
    for wanted in structures:
        same = (split for first, split in firsts if wanted.repeats(first))
        split = next(same, None)
        if split is None:
            share = int(wanted.digest.removeprefix("b2:")[:8], 16) / 0xFFFFFFFF
            split = SPLITS[share < VALIDATION_SHARE]
            firsts.append((wanted, split))
        splits.append(split)
    return splits
