"""What a search tells while it runs, and what it found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kernelwright.core.candidate import Proposal
from kernelwright.core.errors import KernelwrightError
from kernelwright.core.evaluation import Evaluation, Ratio
from kernelwright.core.task import Task

History = list[tuple[Proposal, Evaluation]]


@dataclass(frozen=True)
class Progress:
    """What a search tells while it runs."""

    task: str
    doing: str
    """What is being tried, in a few words."""
    best: Ratio | None
    """The best speedup so far against the strongest library setting."""
    n_done: int
    seconds_left: float
    tokens: int = 0  # read and written by models in this run
    cost_usd: float = 0.0
    """Of this run's models, those whose price was stated."""


OnProgress = Callable[[Progress], None]


@dataclass(frozen=True)
class Result:
    """What a search found.

    ``best`` is None when nothing beat the strongest library setting; ``source_path`` then holds
    that setting as a file.
    """

    task: Task
    best: Proposal | None
    evaluation: Evaluation | None
    """The verdict on ``best`` that stands: the confirming one, measured after the search and apart
    from it, or that of a heat if nothing else was as promising."""
    evaluated: History
    strongest: str
    """The name of the strongest library setting; empty where none was timed."""
    source_path: Path | None
    archive_url: str
    report_path: Path | None = None
    interrupted: bool = False
    error: KernelwrightError | None = None
    """Why the task could not be searched; only in the results of a suite."""
    reasons: tuple[str, ...] = ()
    """Why proposers had nothing to propose."""

    def __repr__(self) -> str:
        """On one line what was found; its parts say the rest."""
        if self.error is not None:
            said = self.error.what
        elif self.evaluation is None:
            said = f"nothing beats {self.strongest or 'the library'}"
        else:
            found = self.evaluation
            parts = [found.status.value, *found.kinds]
            if found.timing is not None:
                parts.append(f"{found.speedup} × {found.timing.strongest}")
            said = f"{', '.join(parts)}, on {found.environment.device}"
        return f"<Result {self.task.name}: {said}>"

    @property
    def counts(self) -> dict[str, int]:
        """The number of judged candidates by status."""
        return dict(Counter(evaluation.status.value for _, evaluation in self.evaluated))
