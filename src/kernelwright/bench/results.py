"""The results of a suite's searches as JSON, as tables and as an HTML page."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from kernelwright.archive import Archive, without_password
from kernelwright.archive.conclusion import WORDS, conclusion
from kernelwright.bench.pace import line as pace_line
from kernelwright.bench.suite import TaskOutcome
from kernelwright.console.terminal import Answer
from kernelwright.core.evaluation import CANDIDATE, Ratio
from kernelwright.core.places import written_whole
from kernelwright.core.settings import Settings
from kernelwright.core.standing import SearchOutcome
from kernelwright.report import facts
from kernelwright.report.exams import PolicySummary, answered, examined
from kernelwright.report.page import Beside, write_chapters
from kernelwright.report.scores import KINDS, LevelSummary, Score, score, summaries
from kernelwright.report.table import policy_table, suite_table, technique_table
from kernelwright.report.techniques import ablation
from kernelwright.report.unfinished import Unfinished

SHOWN_FAST = ("1", "1.5", "2")
"""The fast_p columns that fit on a terminal; the page and the JSON have all of them."""


def answer(
    suite: str,
    outcomes: list[TaskOutcome],
    settings: Settings,
    calls: Collection[str] = (),
    pace: dict[str, Any] | None = None,
) -> Answer:
    """Return the table and the statistics of a suite, and write its page and the page's JSON.

    ``calls`` are the identifiers of the answers that count, if checkpoints were examined; ``pace``
    says how fast the searches went.
    """
    ran = [outcome for outcome in outcomes if outcome.was_run]
    scores = [_score(outcome) for outcome in ran]
    found = [outcome.chapter for outcome in ran if outcome.chapter is not None]
    policies = _policies(ran, settings, calls) if calls else []
    unjudged = [(o.entry.name, _why(o)) for o in ran if o.chapter is None]
    beside = Beside(scores, policies, unjudged=unjudged, unfinished=_unfinished(outcomes))
    path = page_place(suite, settings, is_exam=bool(calls))
    page = write_chapters(found, path, beside) if found else None
    rows = [_facts(outcome) for outcome in ran]
    levels = summaries(scores)
    techniques = None if calls else ablation(found, n_tasks=len(scores))
    result = {
        "suite": suite,
        "levels": [asdict(level) for level in levels],
        "policies": [asdict(policy) for policy in policies],
        "ablation": asdict(techniques) if techniques else None,
        "pace": pace,
        "tasks": rows,
        "not_run": [outcome.entry.name for outcome in outcomes if not outcome.was_run],
        "report": str(page) if page else None,
        "archive": without_password(settings.archive),
    }
    if page is not None:
        with written_whole(page.with_suffix(".json")) as partial:
            partial.write_text(json.dumps(result, indent=1))
    last = f"report: {page}" if page else "nothing was judged"
    if pace:
        last = f"{pace_line(pace)}\n{last}"
    if result["not_run"]:
        last += f"\n{len(result['not_run'])} tasks were not run; the same command resumes with them"
    tables = [suite_table(rows), _level_table(levels)]
    if policies:
        tables.append(policy_table(policies))
    if techniques and techniques.techniques:
        tables.append(technique_table(techniques))
    return Answer(result, 0 if found else 1, [*tables, Text(last)])


def page_place(suite: str, settings: Settings, *, is_exam: bool) -> Path:
    """Return the path of a suite's page."""
    return Path(settings.out, f"bench-{suite}-policy.html" if is_exam else f"bench-{suite}.html")


def _policies(
    outcomes: list[TaskOutcome], settings: Settings, calls: Collection[str]
) -> list[PolicySummary]:
    levels = {outcome.entry.task.digest: outcome.entry.level for outcome in outcomes}
    with Archive(settings.archive) as archive:
        return examined(answered(archive, levels, calls))


def _score(outcome: TaskOutcome) -> Score:
    entry = outcome.entry
    if outcome.chapter is None:
        found = Score(entry.level, entry.name, is_failed=outcome.error is not None)
    else:
        found = score(outcome.chapter, entry.level)
    return replace(found, copy_share=_copy_share(outcome))


def _unfinished(outcomes: list[TaskOutcome]) -> list[Unfinished]:
    """Return the tasks whose search did not end or was not begun."""
    open_ones = [o for o in outcomes if o.error is not None or not o.was_run]
    return [
        Unfinished(f"{o.entry.level}/{o.entry.name}", _why(o) if o.error else "not begun")
        for o in open_ones
    ]


def _why(outcome: TaskOutcome) -> str:
    """Return the reason why nothing was judged."""
    if outcome.error is not None:
        return facts.printable(outcome.error["what"], 80)
    return (outcome.ended or {}).get("why", "nothing was proposed")


def _copy_share(outcome: TaskOutcome) -> float | None:
    """Return the fastest version's memory throughput as a share of a copy's.

    The fastest version is the best candidate, or else the fastest library setting. None means that
    nothing was timed or no copy was measured.
    """
    ended = outcome.ended or {}
    best = outcome.chapter.best if outcome.chapter else None
    if best is not None:
        fastest_ns = best[1].timing.median_ns(CANDIDATE)
    else:
        fastest_ns = min(_baseline_ns(outcome).values(), default=0.0)
    if not fastest_ns or "moved_bytes" not in ended:
        return None
    return ended["moved_bytes"] / ended["copied_bytes_per_s"] * 1e9 / fastest_ns


def _baseline_ns(outcome: TaskOutcome) -> dict[str, float]:
    found = facts.baseline_ns(outcome.chapter.history) if outcome.chapter else {}
    return found or (outcome.ended or {}).get("baseline_ns", {})


def _facts(outcome: TaskOutcome) -> dict[str, Any]:
    """Return one task in the form of ``optimize --json``, with its place in the suite."""
    entry, chapter = outcome.entry, outcome.chapter
    place = {"level": entry.level, "problem": entry.problem}
    task = {"name": f"{entry.level}/{entry.name}", "digest": entry.task.digest}
    error = {"error": outcome.error} if outcome.error else {}
    if chapter is None and error:
        return {**place, "task": task, **error}
    timing = chapter.evaluation.timing if chapter else None
    ended = outcome.ended or {}
    return {
        **place,
        "task": task,
        **error,
        **facts.conclusion_facts(chapter.conclusion if chapter else conclusion([])),
        "candidates": chapter.counts if chapter else {},
        "strongest": timing.strongest if timing else ended.get("strongest", "library"),
        "baseline_ns": _baseline_ns(outcome),
        "copy_share": _copy_share(outcome),
        **({"ended": ended["why"]} if "why" in ended else {}),
        **({"searched_at": outcome.earlier.finished_at} if outcome.earlier else {}),
    }


def line(outcome: TaskOutcome) -> str:
    """Return a line about a finished task, for stderr."""
    task = _facts(outcome)
    if not outcome.was_run:
        text = "not run"
    elif "error" in task and not task.get("best"):
        text = "error: " + facts.printable(task["error"]["what"], 80)
    elif (about := task["best"] or task["undecided"]) is None:
        words = WORDS[SearchOutcome(task["outcome"])]
        text = f"{words}{': ' + task['ended'] if 'ended' in task else ''}"
    else:
        ratio = Ratio(**about["speedup"][task["strongest"]])
        text = f"{about['dialect']} {ratio} × {task['strongest']}"
        text = text if task["best"] else f"undecided: {text}"
    return f"{task['task']['name']}: {text}{_since(outcome)}"


def _since(outcome: TaskOutcome) -> str:
    """Return when and under which versions an earlier result was found; empty for a new one."""
    if outcome.earlier is None:
        return ""
    ended = outcome.earlier.settings["ended"]
    under = f"judge {ended['judge']}, torch {ended['environment'].get('torch')}"
    return f"; skipped: searched on {outcome.earlier.finished_at[:10]} under {under}"


def _level_table(levels: list[LevelSummary]) -> Table:
    counts = "tasks: won, undecided, failed"
    table = Table("level", counts, "mean", "over plain", "median", box=None)
    has_tf32 = any(level.n_tf32 for level in levels)
    names = ("of a copy's rate", *(f"fast_{p}" for p in SHOWN_FAST), *KINDS)
    for name in (*names, *(["without tf32"] if has_tf32 else [])):
        table.add_column(name)
    for level in levels:
        table.add_row(
            level.level,
            f"{level.n}: {level.n_won}, {level.n_undecided}, {level.n_failed}",
            f"{level.geometric_mean:.3f}",
            f"{level.plain_mean:.3f}",
            f"{level.median:.3f} ({level.lower_quartile:.2f}–{level.upper_quartile:.2f})",
            "" if level.copy_share is None else f"{level.copy_share:.0%}",
            *(f"{level.fast[p]:.0%}" for p in SHOWN_FAST),
            *(f"{share.geometric_mean:.3f}, {share.n}" for share in level.kinds),
            *([f"{level.without_tf32:.3f}, {level.n_tf32}"] if has_tf32 else []),
        )
    table.caption = (
        "mean: geometric; of a kind: with all but its wins set to 1, and the number of wins; of a "
        "copy's rate: median of the memory throughput as a share of what a copy reaches"
    )
    if has_tf32:
        table.caption += (
            "; without tf32: with the wins set to 1 that have TF32's errors, and their number: "
            "--precision fp32 forbids them"
        )
    return table
