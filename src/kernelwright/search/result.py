"""The progress of a search, its result, and the file that the result is written to."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kernelwright.archive import ranking
from kernelwright.archive.conclusion import Conclusion, conclusion
from kernelwright.core import plugins
from kernelwright.core.candidate import Candidate, Proposal
from kernelwright.core.errors import KernelwrightError, TaskError
from kernelwright.core.evaluation import Evaluation, Ratio
from kernelwright.core.places import require_folder, written_whole
from kernelwright.core.standing import SearchOutcome
from kernelwright.core.task import Task
from kernelwright.core.use import Use
from kernelwright.proposers.emitted import FREE_SIZES, WHY_FIXED

History = list[tuple[Proposal, Evaluation]]


@dataclass(frozen=True)
class Progress:
    """The state of a running search, as ``on_progress`` receives it."""

    task: str
    doing: str
    """The current activity, in a few words."""
    best: Ratio | None
    """The best speedup so far against the strongest library setting."""
    n_done: int
    """Number of candidates that the judge has judged."""
    seconds_left: float = field(compare=False)
    tokens: int = 0
    """Tokens that models read and wrote in this run."""
    cost_usd: float = 0.0
    """Cost of this run's model calls, for the models with a stated price."""
    n_trials: int = 0
    """Number of candidates that the tuner has tried in this run."""
    trials_per_s: float = field(default=0.0, compare=False)
    """Trials per second since the first one of this run began, builds included."""
    is_notice: bool = False
    """Whether ``doing`` is said only once, such as the reason why nothing can be tried: it must
    not be passed over."""


OnProgress = Callable[[Progress], None]


@dataclass(frozen=True)
class AtShape:
    """The verdict on a search's winner on one of the shapes that the task lists."""

    name: str
    """Such as '64x1024'."""
    evaluation: Evaluation
    is_holdout: bool
    """Whether nobody has tuned for this shape."""


def mean_over_listed(by_shape: Sequence[AtShape]) -> float | None:
    """The geometric mean of the speedups over the strongest library setting on each shape that is
    not held out; None without shapes, or where it was not measured on one of them."""
    return ranking.mean_speedup(at.evaluation for at in by_shape if not at.is_holdout)


@dataclass(frozen=True)
class Result:
    """The outcome of a search.

    ``best`` is None if nothing beat the strongest library setting, or if that is undecided; the
    file at ``source_path`` then contains that setting.
    """

    task: Task
    best: Proposal | None
    evaluation: Evaluation | None
    """The final verdict on ``best``: the confirming one, measured after the search, or the one from
    its batch if no other candidate was as promising."""
    evaluated: History
    """All verdicts in order; the last one on a candidate counts."""
    strongest: str
    """The name of the strongest library setting; empty if none was timed."""
    source_path: Path | None
    archive_url: str
    report_path: Path | None = None
    interrupted: bool = False
    error: KernelwrightError | None = None
    """The reason why the task could not be searched; only in the results of a suite."""
    reasons: tuple[str, ...] = ()
    """The reasons why proposers had nothing to propose, and what would help."""
    device: str = ""
    """The device that was searched for."""
    first_right: Proposal | None = None
    """The first right kernel, where the device is emulated and nothing is timed: ``source_path``
    has it."""
    other: Result | None = None
    """The result of the same module in training mode, where both modes were searched."""

    by_shape: tuple[AtShape, ...] = ()
    """The winner on every shape that the task lists, the main one first and those held out last;
    empty for a task of one shape. Where a winner on the main shape loses more on the others,
    ``best`` is None, and this is about that candidate."""
    uses: tuple[Use, ...] = ()
    """The results of using the winner as programs use modules; empty if this was not tried."""

    @property
    def mean_speedup(self) -> float | None:
        """The geometric mean of the speedups over the strongest library setting on each listed
        shape, without those held out; None for a task of one shape."""
        return mean_over_listed(self.by_shape)

    def __repr__(self) -> str:
        """Summarise the result in one line."""
        if self.error is not None:
            said = self.error.what
        elif self.evaluation is None:
            said = self.conclusion.sentence(self.strongest)
            if self.reasons and not self.evaluated:
                said += f": {'; '.join(self.reasons)}"
        else:
            found = self.evaluation
            parts = [found.status.value, *found.kinds]
            if found.timing is not None:
                parts.append(f"{found.speedup} × {found.timing.strongest}")
            said = f"{', '.join(parts)}, on {found.environment.device}"
            if faults := [use.name for use in self.uses if use.is_fault]:
                said += f"; NOT FOR USE with {', '.join(faults)}"
        return f"<Result {self.task.name}: {said}>"

    @property
    def mode(self) -> str:
        """The only mode that the kernels of ``best`` serve, 'eval' or 'train'; empty if they serve
        both, or if nothing is known of it."""
        return str(self.best.schedule.get("mode", "")) if self.best else ""

    @property
    def said_of_sizes(self) -> str:
        """What sizes of inputs the kernels of ``best`` take, in a sentence; empty where nothing is
        known of it."""
        schedule = self.best.schedule if self.best else {}
        if FREE_SIZES not in schedule:
            return ""
        if free := schedule[FREE_SIZES]:
            return f"its kernels take any {' and '.join(free)}"
        why = schedule.get(WHY_FIXED)
        return f"its kernels are for these sizes alone{f': {why}' if why else ''}"

    @property
    def conclusion(self) -> Conclusion:
        """The outcome of the verdicts."""
        if self.by_shape:
            n_listed = sum(not at.is_holdout for at in self.by_shape)
            if self.best is None or self.evaluation is None:
                return Conclusion(SearchOutcome.LIBRARY, None, self.mean_speedup, n_listed)
            pair = self.best, self.evaluation
            return Conclusion(SearchOutcome.WON, pair, self.mean_speedup, n_listed)
        return conclusion(self.evaluated)

    @property
    def counts(self) -> dict[str, int]:
        """The number of judged candidates by the status of the last verdict on each."""
        last = {proposal.candidate.digest: found.status.value for proposal, found in self.evaluated}
        return dict(Counter(last.values()))


def require_source(out: Path | str, name: str) -> None:
    """Create the folder ``out``; fail early if a candidate's file could not be written to it.

    Raises:
        TaskError: the task's name is too long for a file name.
        OSError: the folder is not writable.
    """
    require_folder(out)
    longest = max(plugins.names("kernelwright.dialects"), key=len)
    n_bytes = len(os.fsencode(_source_name(Candidate("", longest), name)))
    n_most = os.pathconf(out, "PC_NAME_MAX")
    if n_bytes > n_most:
        raise TaskError(
            "the task's name is too long for the file name of its kernel",
            seen=f"{name[:60]}…: {n_bytes} bytes with dialect and digest, at most {n_most} allowed",
            do="give the task's file a shorter name",
        )


def write_source(candidate: Candidate, out: Path, name: str) -> Path:
    """Write the candidate's file; the same candidate gives the same path."""
    out.mkdir(parents=True, exist_ok=True)
    path = out / _source_name(candidate, name)
    with written_whole(path) as partial:
        partial.write_text(candidate.source, encoding="utf-8")
    return path


def _source_name(candidate: Candidate, name: str) -> str:
    return f"{name}-{candidate.dialect}-{candidate.digest.removeprefix('b2:')[:10]}.py"
