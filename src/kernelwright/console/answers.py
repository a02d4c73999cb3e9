"""Answers of the command line: results and verdicts as JSON and as printable tables."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import geometric_mean
from typing import Any

from rich.console import RenderableType

from kernelwright.archive import Archive, ranking, without_password
from kernelwright.archive.repetition import Repetition
from kernelwright.console.terminal import Answer, error_facts
from kernelwright.core.candidate import Candidate
from kernelwright.core.errors import DeviceError
from kernelwright.core.evaluation import Evaluation
from kernelwright.core.settings import Settings
from kernelwright.core.standing import SearchOutcome
from kernelwright.report import facts, table
from kernelwright.search.result import AtShape, Result, mean_over_listed

DONE, NOTHING_PASSED = 0, 1  # exit codes; core/errors.py has 2 (wrong use) and 3 (machine failed)
STANDS = {
    True: "stands",
    False: "does not stand",
    None: "could not be measured here, or not well enough",
}
STANDS_CODE = {True: DONE, False: NOTHING_PASSED, None: DeviceError.exit_code}


def verdict(
    by_shape: Sequence[AtShape], candidate: Candidate, receipt: Path | None = None
) -> Answer:
    """Return the answer of `judge TASK CANDIDATE`: the verdict on the main shape, which is the
    first, and the speedups on the others."""
    evaluation = by_shape[0].evaluation
    rows = _verdict_rows(evaluation)
    found = {"dialect": candidate.dialect, **facts.evaluation_facts(evaluation)}
    if receipt is not None:
        rows.append(("receipt", str(receipt)))
        found["receipt"] = str(receipt)
    shown: list[RenderableType] = [table.verdict_table(rows)]
    if len(by_shape) > 1:
        found |= shapes_facts(by_shape)
        shown.append(table.shape_table(found["shapes"]))
    is_passed = all(at.evaluation.passed for at in by_shape)
    return Answer(found, DONE if is_passed else NOTHING_PASSED, shown)


def repetition(again: Repetition) -> Answer:
    """Return the answer of `judge --repeat`."""
    before = again.receipt.evaluation
    found = {
        "stands": again.stands,
        "differences": list(again.differences),
        "notes": list(again.notes),
        "task": {"name": again.receipt.task.name, "digest": again.receipt.task.digest},
        "receipt": facts.evaluation_facts(before),
        "verdict": facts.evaluation_facts(again.evaluation),
    }
    rows = [("the receipt", STANDS[again.stands])]
    rows += [("because", difference) for difference in again.differences]
    rows += [("differs", note) for note in again.notes]
    rows += [("task", again.receipt.task.name), ("it said", _in_short(before))]
    shown: list[RenderableType] = [table.verdict_table(rows), "", "now:"]
    shown.append(table.verdict_table(_verdict_rows(again.evaluation)))
    return Answer(found, STANDS_CODE[again.stands], shown)


def _in_short(evaluation: Evaluation) -> str:
    if evaluation.speedup is None or evaluation.timing is None:
        return "; ".join(filter(None, (evaluation.status.value, evaluation.why)))
    return f"{evaluation.status.value}, {evaluation.speedup} × {evaluation.timing.strongest}"


def _result_facts(result: Result) -> dict[str, Any]:
    found = facts.conclusion_facts(result.conclusion)
    if found["best"]:
        found["best"]["path"] = str(result.source_path)
    return {
        **found,
        "candidates": result.counts,
        "report": str(result.report_path) if result.report_path else None,
        "task": {"name": result.task.name, "digest": result.task.digest},
        "source": str(result.source_path) if result.source_path else None,
        "strongest": result.strongest,
        "baseline_ns": facts.baseline_ns(result.evaluated),
        "archive": without_password(result.archive_url),
        "interrupted": result.interrupted,
        "mode": result.mode or None,
        **shapes_facts(result.by_shape),
        "uses": [dataclasses.asdict(use) for use in result.uses],
    }


def shapes_facts(by_shape: Sequence[AtShape]) -> dict[str, Any]:
    """The verdicts on one candidate by shape, and the geometric mean of its speedups."""
    shapes = [
        facts.shape_facts(at.name, at.evaluation, is_holdout=at.is_holdout) for at in by_shape
    ]
    return {"shapes": shapes, "geometric_mean": mean_over_listed(by_shape)}


def one_result(result: Result, *, is_alone: bool = True) -> Answer:
    """Return the answer of `optimize TASK`.

    ``is_alone``: the module was searched in one mode only.
    """
    if result.error is not None:
        told = {"error": error_facts(result.error), "task": {"name": result.task.name}}
        return Answer(told, result.error.exit_code, [f"{result.task.name}: {result.error}"])
    pair = None
    if result.best is not None and result.evaluation is not None:
        pair = (result.best, result.evaluation)
    library = " ".join(filter(None, ("library setting", result.strongest)))
    unpaired = "first right kernel" if result.first_right else library
    where = "best source" if pair else unpaired
    lines = [_headline(result), f"{where}: {result.source_path}"]
    if result.report_path is not None:
        lines.append(f"report: {result.report_path}")
    if result.said_of_sizes:
        lines.append(result.said_of_sizes)
    if result.uses:
        lines.append(facts.uses_text(result.uses))
    if result.mode and is_alone and result.other is None:
        missing = "train" if result.mode == "eval" else "eval"
        lines.append(
            f"made for {result.mode} mode; in {missing} mode the module's own forward runs "
            f"(--mode {missing} makes kernels for it, --mode both for the two)"
        )
    if result.interrupted:
        lines.append("stopped early; the same command resumes from here")
    code = DONE if pair or result.counts.get("passed") else NOTHING_PASSED
    shown: list[RenderableType] = [table.candidate_table(result.evaluated, pair)]
    if result.by_shape:
        shown.append(table.shape_table(shapes_facts(result.by_shape)["shapes"]))
    shown.append("\n".join(lines))
    if result.other is None:
        return Answer(_result_facts(result), code, shown)
    second = one_result(result.other, is_alone=False)
    told = _result_facts(result) | {"other": second.facts}
    return Answer(told, min(code, second.exit_code), [*shown, *second.shown])


def _headline(result: Result) -> str:
    if not result.counts.get("passed"):
        known = f"strongest library setting ({result.strongest})" if result.strongest else "library"
        return f"{result.task.name}: {_why_none(result)}; here is the {known} as a file"
    if not result.strongest:
        what = "first right kernel" if result.first_right else "library"
        return f"{result.task.name}: nothing was timed; here is the {what} as a file"
    said = f"{result.task.name}: {result.conclusion.sentence(result.strongest)}"
    if result.conclusion.outcome is SearchOutcome.WON:
        return f"{said}, on {result.device}"
    if result.conclusion.outcome is SearchOutcome.UNDECIDED:
        return (
            f"{said}; here is the library setting as a file, and the same command with a larger "
            "--budget measures for longer"
        )
    return f"{said}; here it is as a file"


def _why_none(result: Result) -> str:
    if result.evaluated:
        counts = ", ".join(f"{n} {status}" for status, n in result.counts.items())
        return f"no candidate passed ({counts})"
    if result.interrupted:
        return "no kernel was judged before it was stopped"
    why = f": {'; '.join(result.reasons)}" if result.reasons else ""
    return f"no kernel was proposed{why}"


def suite_results(results: list[Result], settings: Settings) -> Answer:
    """Return the answer of `optimize --suite`, and write the report of the whole archive."""
    path = None
    if any(result.evaluated for result in results):
        from kernelwright.report import page

        with Archive(settings.archive) as archive:
            path = page.write(archive, Path(settings.out) / page.NAME)
    counts = sum((Counter(result.counts) for result in results), Counter())
    done = [result for result in results if result.error is None]
    found = [result.evaluation and result.evaluation.speedup for result in done]
    gains = [speedup.median if speedup else 1.0 for speedup in found]
    mean = geometric_mean(gains) if gains else None
    tasks = [
        {"error": error_facts(r.error), "task": {"name": r.task.name}}
        if r.error
        else _result_facts(r)
        for r in results
    ]
    answer = {
        "tasks": tasks,
        "candidates": dict(counts),
        "geometric_mean": mean,
        "report": str(path) if path else None,
        "archive": without_password(settings.archive),
        "interrupted": any(result.interrupted for result in results),
    }
    lines = [f"report: {path}"] if path else []
    if mean is not None:
        lines.insert(0, f"geometric mean over the strongest library setting: {mean:.3f}")
    shown: list[RenderableType] = [table.suite_table(tasks), "\n".join(lines)]
    return Answer(answer, DONE if counts["passed"] else NOTHING_PASSED, shown)


def _verdict_rows(evaluation: Evaluation) -> list[tuple[str, str]]:
    rows = [("status", evaluation.status.value)]
    if evaluation.passed:
        rows.append(("standing", facts.standing_text(evaluation)))
    rows += [("reason", reason.detail) for reason in evaluation.reasons]
    rows += [("warning", warned.detail) for warned in evaluation.warnings]
    if evaluation.kinds:
        rows.append(("win" if ranking.wins(evaluation) else "kind", " ".join(evaluation.kinds)))
    if evaluation.timing is not None:
        for name, ratio in evaluation.timing.speedups.items():
            mark = "  (the strongest)" if name == evaluation.timing.strongest else ""
            rows.append((f"× {name}", facts.ratio_text(ratio) + mark))
    found = evaluation.numerics
    if found is not None and found.distributions:  # empty if the first inputs showed an error
        rows.append(("error", f"{found.max_error:.2g}; allowed {found.allowed_error:.2g}"))
        rows.append(("checks", f"{len(found.distributions)} kinds of inputs and weights"))
    rows.append(("device", evaluation.environment.device))
    held = facts.guarantees_text(evaluation.guarantees)
    rows.append(("isolated", held or "no guarantee held"))
    return rows
