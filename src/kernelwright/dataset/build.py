"""Archives made into a dataset: tasks that repeat a test left out, the rest split by structure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelwright.archive import Archive
from kernelwright.core.errors import UsageError
from kernelwright.core.task import Task
from kernelwright.dataset import cards
from kernelwright.dataset.card import write_card
from kernelwright.dataset.pairs import SPLITS, Pair, write_pairs
from kernelwright.dataset.parquet import arrow
from kernelwright.dataset.rows import History, Lesson, chosen, lessons
from kernelwright.loaders.kernelbench import read_task
from kernelwright.loaders.structure import Known, Structure, structure
from kernelwright.suites.suite import builtin_suite

KEEP = 8
VALIDATION_SHARE = 0.1
"""Of the structures, by their digests: the same in every build."""
TESTS = ("level1", "level2", "level3", "level4")
"""KernelBench's folders; where there is none of them, every file of the folder is a test."""


@dataclass(frozen=True)
class Left:
    """A task that gave no pairs, and why."""

    name: str
    reason: str
    """'test': it repeats one; 'no verdict': nothing of it was judged; 'not text': it needs more
    than its text to run."""
    detail: str = ""


@dataclass(frozen=True)
class Dataset:
    """What was built."""

    pairs: tuple[Pair, ...]
    left: tuple[Left, ...]
    n_tests: int
    """Tasks that the others were compared with."""
    folder: Path

    @property
    def counts(self) -> dict[str, int]:
        """Pairs by split."""
        return dict(Counter(pair.split for pair in self.pairs))


def build_dataset(
    archives: Sequence[str], *, out: str | Path, exclude: Sequence[str | Path] = (),
    keep: int = KEEP, command: str = "kernelwright dataset build",
    on_done: Callable[[str], None] = lambda text: None,
) -> Dataset:  # fmt: skip
    """The judged candidates of ``archives`` as pairs in ``out``, with a card; what it comes to.

    At most ``keep`` of a task in each dialect on each device. A task that repeats a built-in task,
    or one in a folder of ``exclude``, in its structure is left out.

    Raises:
        UsageError: no archive, a folder without tasks, a README.md of somebody else in ``out``, or
            no pyarrow.
        ArchiveError: an archive cannot be read.
        OSError: nothing can be written to ``out``.
    """
    arrow()
    if not archives:
        raise UsageError("which archive?", seen="none", do="add --archive FILE")
    if keep < 1:
        raise UsageError("nothing would be kept", seen=f"--keep {keep}", do="give 1 or more")
    folder = Path(out)
    cards.require_place(folder)
    tests = Known(excluded_tasks(exclude))
    on_done(f"{len(tests)} tests to stay clear of")
    found: dict[str, _Found] = {}
    for url in archives:
        _gather(url, found)
    left, learnt = [], []
    for entry in sorted(found.values(), key=lambda entry: entry.task.digest):
        reason = _reason(entry, tests)
        on_done(f"{entry.task.name}: {reason.reason if reason else 'kept'}")
        left += [reason] if reason else []
        learnt += [] if reason else [entry]
    pairs: list[Pair] = []
    for entry, split in zip(learnt, _splits([entry.structure for entry in learnt]), strict=True):
        pairs += lessons(entry.lesson(split, keep))
    write_pairs(pairs, folder)
    dataset = Dataset(tuple(pairs), tuple(left), len(tests), folder)
    write_card(dataset, archives=archives, exclude=exclude, keep=keep, command=command)
    return dataset


def excluded_tasks(exclude: Sequence[str | Path]) -> list[Task]:
    """The built-in tasks and those in the folders of ``exclude``: KernelBench checkouts, or
    folders of task files.

    Raises:
        UsageError: a folder without tasks.
    """
    tasks = [entry.task for entry in builtin_suite("cpu", size="small")]
    for folder in map(Path, exclude):
        files = [f for level in TESTS for f in sorted(folder.rglob(f"{level}/*.py"))]
        files = files or sorted(folder.glob("*.py"))
        if not files:
            raise UsageError(
                f"{folder} holds no tasks to stay clear of",
                seen="no level1/*.py and no *.py in it" if folder.is_dir() else "no such folder",
                do="give a KernelBench checkout, or a folder of task files",
            )
        tasks += [read_task(file) for file in files]
    return tasks


@dataclass
class _Found:
    """A task with what the archives say about it."""

    task: Task
    histories: list[tuple[str, History]]
    is_examined: bool = False
    """Whether an archive holds an exam of a checkpoint on it."""
    _structure: Structure | None = None

    @property
    def structure(self) -> Structure:
        if self._structure is None:
            self._structure = structure(self.task)
        return self._structure

    def lesson(self, split: str, keep: int) -> Lesson:
        trace = self.structure.trace
        return Lesson(self.task, trace, split, tuple(chosen(self.histories, keep)))


def _gather(url: str, found: dict[str, _Found]) -> None:
    with Archive(url, create=False) as archive:
        for task in archive.tasks():
            entry = found.setdefault(task.digest, _Found(task, []))
            entry.histories.append((archive.url, archive.history(task.digest)))
            entry.is_examined |= archive.is_examined(task.digest)


def _reason(entry: _Found, tests: Known) -> Left | None:
    """Why a task gives no pairs; None where it gives some."""
    name, task = entry.task.name, entry.task
    if task.payload is not None or (task.import_roots and task.origin == "module"):
        return Left(name, "not text")
    if not any(chosen(entry.histories, 1)):
        return Left(name, "no verdict")
    if entry.is_examined:
        return Left(name, "test", "examined")
    repeated = tests.repeated_by(entry.structure)
    return Left(name, "test", repeated) if repeated else None


def _splits(structures: Iterable[Structure]) -> list[str]:
    """A split for each; those that repeat one another get the same."""
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
