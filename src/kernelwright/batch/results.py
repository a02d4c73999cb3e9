"""What became of the files of a folder: as JSON, and as a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from rich.console import RenderableType

from kernelwright.archive import without_password
from kernelwright.batch.cases import Case, Docket, Step
from kernelwright.console import answers
from kernelwright.console.terminal import Answer, error_facts
from kernelwright.core.settings import Settings
from kernelwright.report import facts, table


def step_line(step: Step, since_s: float) -> str:
    """What is being judged, and for how long."""
    return (
        f"{facts.one_line(step.task, 40)} · {step.n_done} of {step.n_all} judged · "
        f"{facts.one_line(step.doing, 60)}" + (f" · {since_s:.0f} s" if since_s >= 1 else "")
    )


def one_task(docket: Docket, settings: Settings) -> Answer:
    """What ``judge TASK DIR`` answers."""
    told = _docket_facts(docket) | {"archive": without_password(settings.archive)}
    return Answer(told, _code([docket]), _shown([docket]))


def suite(dockets: Sequence[Docket], unmatched: Sequence[str], settings: Settings) -> Answer:
    """What ``judge --suite NAME DIR`` answers."""
    told = {
        "tasks": [_docket_facts(docket) for docket in dockets],
        "candidates": dict(_counts(dockets)),
        "unmatched": list(unmatched),
        "archive": without_password(settings.archive),
        "interrupted": any(docket.interrupted for docket in dockets),
    }
    shown = _shown(dockets)
    if unmatched:
        names = facts.one_line(", ".join(unmatched), facts.MAX_REASON)
        shown.append(f"{len(unmatched)} files name no problem that was asked for: {names}")
    return Answer(told, _code(dockets), shown)


def _docket_facts(docket: Docket) -> dict[str, Any]:
    return {
        "task": {"name": docket.task.name, "digest": docket.task.digest},
        "verdicts": [_case_facts(case) for case in _ordered(docket) if case.is_settled],
        "candidates": dict(_counts([docket])),
        "undecided": [case.name for case in docket.cases if not case.is_settled],
        "interrupted": docket.interrupted,
    }


def _case_facts(case: Case) -> dict[str, Any]:
    found: dict[str, Any] = {"file": case.name}
    if case.evaluation is not None and case.candidate is not None:
        return found | {
            "dialect": case.candidate.dialect, **facts.evaluation_facts(case.evaluation)
        }  # fmt: skip
    return found | {"error": error_facts(case.error) if case.error else None}


def _ordered(docket: Docket) -> list[Case]:
    """The fastest first by its lower bound, then the untimed, the failed, and those without."""

    def rank(case: Case) -> tuple[Any, ...]:
        found = case.evaluation
        if found is None:
            return (3, case.error is None, case.name)
        if found.speedup is None:
            return (1 if found.passed else 2, found.status.value, case.name)
        return (0, -found.speedup.low, case.name)

    return sorted(docket.cases, key=rank)


def _counts(dockets: Sequence[Docket]) -> Counter[str]:
    """The number of files by status; 'error' where one has none."""
    settled = [case for docket in dockets for case in docket.cases if case.is_settled]
    return Counter(c.evaluation.status.value if c.evaluation else "error" for c in settled)


def _code(dockets: Sequence[Docket]) -> int:
    return answers.DONE if _counts(dockets)["passed"] else answers.NOTHING_PASSED


def _shown(dockets: Sequence[Docket]) -> list[RenderableType]:
    groups = [
        [(case.name, case.evaluation, _why(case)) for case in _ordered(docket)]
        for docket in dockets
    ]
    counts = ", ".join(f"{n} {status}" for status, n in _counts(dockets).most_common())
    shown: list[RenderableType] = [table.file_table(groups)]
    if counts:
        shown.append(counts)
    if any(docket.interrupted for docket in dockets):
        shown.append("stopped early; the same command goes on from here")
    return shown


def _why(case: Case) -> str:
    if case.evaluation is not None:
        return facts.standing(case.evaluation)
    return f"{case.error.what}: {case.error.seen}" if case.error else "not judged yet"
