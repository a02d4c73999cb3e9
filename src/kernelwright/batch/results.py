"""The results of a batch of files, as JSON and as a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import RenderableType

from kernelwright.archive import without_password
from kernelwright.batch.files import Batch, BatchProgress, CandidateFile
from kernelwright.console import answers
from kernelwright.console.terminal import Answer, error_facts
from kernelwright.core.evaluation import Evaluation
from kernelwright.core.settings import Settings
from kernelwright.report import facts, table
from kernelwright.search.result import mean_over_listed


def step_line(step: BatchProgress, since_s: float) -> str:
    """Return a line that says what is being judged, and for how long."""
    return (
        f"{facts.one_line(step.task, 40)} · {step.n_done} of {step.n_all} judged · "
        f"{facts.one_line(step.doing, 60)}" + (f" · {since_s:.0f} s" if since_s >= 1 else "")
    )


def one_task(batch: Batch, settings: Settings) -> Answer:
    """Return the answer of ``judge TASK DIR``."""
    found = _batch_facts(batch) | {"archive": without_password(settings.archive)}
    return Answer(found, _code([batch]), _shown([batch]))


def suite(batches: Sequence[Batch], unmatched: Sequence[str], settings: Settings) -> Answer:
    """Return the answer of ``judge --suite NAME DIR``."""
    found = {
        "tasks": [_batch_facts(batch) for batch in batches],
        "candidates": dict(_counts(batches)),
        "unmatched": list(unmatched),
        "archive": without_password(settings.archive),
        "interrupted": any(batch.interrupted for batch in batches),
    }
    shown = _shown(batches)
    if unmatched:
        names = facts.one_line(", ".join(unmatched), facts.MAX_REASON)
        shown.append(f"{len(unmatched)} files match none of the selected problems: {names}")
    return Answer(found, _code(batches), shown)


def _batch_facts(batch: Batch) -> dict[str, Any]:
    return {
        "task": {"name": batch.task.name, "digest": batch.task.digest},
        "verdicts": [_file_facts(file) for file in _ordered(batch) if file.is_settled],
        "candidates": dict(_counts([batch])),
        "unjudged": [file.name for file in batch.files if not file.is_settled],
        "interrupted": batch.interrupted,
    }


def _file_facts(file: CandidateFile) -> dict[str, Any]:
    found: dict[str, Any] = {"file": file.name}
    if file.evaluation is not None and file.candidate is not None:
        found |= {"dialect": file.candidate.dialect} | facts.evaluation_facts(file.evaluation)
        return found | (answers.shapes_facts(file.by_shape) if file.by_shape else {})
    return found | {"error": error_facts(file.error) if file.error else None}


def _ordered(batch: Batch) -> list[CandidateFile]:
    """Sort the files: timed ones by the speedup's lower end, of a task that lists shapes by the
    mean over them, then untimed, failed and unjudged."""

    def rank(file: CandidateFile) -> tuple[Any, ...]:
        found = file.evaluation
        if found is None:
            return (3, file.error is None, file.name)
        if found.speedup is None:
            return (1 if found.passed else 2, found.status.value, file.name)
        return (0, -(mean_over_listed(file.by_shape) or found.speedup.low), file.name)

    return sorted(batch.files, key=rank)


def _counts(batches: Sequence[Batch]) -> Counter[str]:
    """Count the files by status; files without a verdict count as 'error'."""
    settled = [file for batch in batches for file in batch.files if file.is_settled]
    return Counter(c.evaluation.status.value if c.evaluation else "error" for c in settled)


def _code(batches: Sequence[Batch]) -> int:
    return answers.DONE if _counts(batches)["passed"] else answers.NOTHING_PASSED


def _shown(batches: Sequence[Batch]) -> list[RenderableType]:
    groups = [[row for file in _ordered(batch) for row in _rows(file)] for batch in batches]
    counts = ", ".join(f"{n} {status}" for status, n in _counts(batches).most_common())
    shown: list[RenderableType] = [table.file_table(groups)]
    if counts:
        shown.append(counts)
    if any(batch.interrupted for batch in batches):
        shown.append("stopped early; the same command resumes from here")
    return shown


def _rows(file: CandidateFile) -> Iterator[tuple[str, Evaluation | None, str]]:
    """The row of a file, and one for each other shape that its task lists."""
    mean = mean_over_listed(file.by_shape)
    over_all = f"; {mean:.2f} over the listed shapes" if mean else ""
    yield file.name, file.evaluation, _why(file) + over_all
    for at in file.by_shape[1:]:
        held_out = ", held out" if at.is_holdout else ""
        yield f"  at {at.name}", at.evaluation, facts.standing_text(at.evaluation) + held_out


def _why(file: CandidateFile) -> str:
    if file.evaluation is not None:
        return facts.standing_text(file.evaluation)
    return f"{file.error.what}: {file.error.seen}" if file.error else "not judged yet"
