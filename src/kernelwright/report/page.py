"""Write the page: everything in one file, nothing fetched, everything a stranger wrote escaped."""

from __future__ import annotations

import base64
import hashlib
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

from jinja2 import Environment, PackageLoader
from markupsafe import Markup
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from kernelwright.archive import Archive, ranking
from kernelwright.core.errors import ArchiveError
from kernelwright.core.places import require_file, written_whole
from kernelwright.core.standing import SearchOutcome
from kernelwright.report import charts, facts
from kernelwright.report.chapter import Chapter, chapters, schedule_text, unjudged
from kernelwright.report.exams import ALL, PolicySummary, answered, examined
from kernelwright.report.scores import Score, summaries
from kernelwright.report.spending import Spending, spending
from kernelwright.report.techniques import ablation
from kernelwright.report.training import Stage, stages
from kernelwright.report.unfinished import Unfinished, cut_off

NAME = "report.html"
MARK = '<meta name="generator" content="kernelwright">'
"""Stands in every page's head: a file without it is not written over."""
MOST_TASKS = 500
"""Tasks on the page of a whole archive: a page of ten thousand opens in no browser."""
N_CHARTED = 20  # rows of a chart that a screen shows whole
FEW_VERDICTS = 6
"""Verdicts that need no chart over time beside that of the trials."""
SCRIPT = """
for (const button of document.querySelectorAll("button[data-copies]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const text = document.getElementById(button.dataset.copies);
    try {
      await navigator.clipboard.writeText(text.textContent);
    } catch {
      getSelection().selectAllChildren(text);
      document.execCommand("copy");
    }
    button.textContent = "copied";
  });
}
"""
"""The page's only script: buttons that copy the text of another element. The page's policy allows
it by its digest, and no other."""
LIGHT, DARK = "default", "github-dark"


@dataclass(frozen=True)
class Beside:
    """What stands on a page before its chapters."""

    scores: Sequence[Score] = ()
    """Statistics by level are theirs."""
    policies: Sequence[PolicySummary] = ()
    stages: Sequence[Stage] = ()
    unjudged: Sequence[tuple[str, str]] = ()
    """Tasks that were searched and have no chapter, with the reason: they count 1, for the
    library's best is handed back."""
    unfinished: Sequence[Unfinished] = ()
    n_left_out: int = 0
    """Tasks of the archive for which the page has no room."""


NOTHING_BESIDE = Beside()


def write(
    archive: Archive, out: str | Path, task: str | None = None, *, most_tasks: int = MOST_TASKS
) -> Path:
    """Write the report of the tasks that were run last, or of the task with this digest, to the
    file ``out``, or to ``report.html`` where it is a folder or ends in a slash.

    Raises:
        ArchiveError: nothing has been judged yet.
        UsageError, OSError: as for ``require_place``.
    """
    tasks = archive.newest_tasks(most_tasks) if task is None else [archive.task(task)]
    found = chapters(archive, tasks)
    if not found:
        raise ArchiveError(
            "there is nothing to report: no verdict is in the archive",
            seen=f"{len(tasks)} tasks, 0 verdicts",
            do="run `kernelwright optimize` first",
        )
    beside = Beside(unfinished=cut_off(archive, tasks))
    if task is None:
        beside = replace(
            beside,
            policies=examined(answered(archive, {each.digest: ALL for each in tasks})),
            stages=stages(archive),
            unjudged=unjudged(archive, tasks, found),
            n_left_out=archive.count_tasks() - len(tasks),
        )
    is_folder = str(out).endswith(os.sep) or Path(out).is_dir()
    return write_chapters(found, Path(out, NAME) if is_folder else Path(out), beside)


def write_chapters(found: list[Chapter], path: Path, beside: Beside = NOTHING_BESIDE) -> Path:
    """Write these chapters, and what stands before them.

    Raises:
        UsageError, OSError: as for ``require_place``.
    """
    require_place(path)
    with written_whole(path) as partial:
        partial.write_text(render(found, beside), encoding="utf-8", errors="replace")
    return path


def require_place(path: Path) -> None:
    """Nothing where a page can be written to ``path``: asked before what takes long.

    Raises:
        UsageError: a file that is no page of ours is there.
        OSError: it cannot.
    """
    require_file(path, "report", MARK)


def render(found: list[Chapter], beside: Beside = NOTHING_BESIDE) -> str:
    """The page's text. The same chapters give the same text."""
    scores, policies = beside.scores, beside.policies
    n_tasks = len(found) + len(beside.unjudged)
    has_won = any(score.gain > 1 for score in scores)
    environment = Environment(
        loader=PackageLoader("kernelwright.report", "templates"),
        autoescape=True,
        finalize=_visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "ratio": facts.ratio_text,
        "mean": facts.mean_text,
        "share": facts.share_text,
        "duration": facts.duration_text,
        "short": facts.short,
        "schedule": schedule_text,
        "python": _highlighted,
        "bytes": facts.bytes_text,
        "guarantees": facts.guarantees_text,
        "clock": facts.clock_text,
    }
    return environment.get_template("page.html.j2").render(
        chapters=found,
        overview=_overview(found, beside.unjudged) if n_tasks > 1 else None,
        levels=summaries(scores),
        ablation=ablation(found, n_tasks=len(scores)) if has_won and not policies else None,
        policies=policies,
        stages=beside.stages,
        unfinished=beside.unfinished,
        n_left_out=beside.n_left_out,
        fast_chart=charts.fast_p(_gains(scores), "fast_p by level") if has_won else None,
        mark=Markup(MARK),
        style=Markup(_style()),
        script=Markup(SCRIPT),
        script_digest=Markup(_digest(SCRIPT)),
        candidate_chart=_candidate_chart,
        search_charts=_search_charts,
        beside_best=facts.beside_best,
        first_looks=facts.first_looks,
        wins=ranking.wins,
    )


def _overview(found: list[Chapter], unjudged: Sequence[tuple[str, str]]) -> dict[str, Any]:
    gains = [*(chapter.gain for chapter in found), *(1.0 for _ in unjudged)]
    won = ((chapter.task.name[:32], chapter.gain) for chapter in found if chapter.best)
    rows = sorted(won, key=lambda row: -row[1])
    return {
        "geometric_mean": geometric_mean(gains),
        "median": median(gains),
        "n_tasks": len(gains),
        "unjudged": unjudged,
        "n_won": sum(chapter.best is not None for chapter in found),
        "n_undecided": sum(c.conclusion.outcome is SearchOutcome.UNDECIDED for c in found),
        "tf32": _without_tf32(found, gains),
        "spending": _spending(found),
        "counts": sum((Counter(chapter.counts) for chapter in found), Counter()),
        "chart": charts.bars(rows, "speedup of the best candidate of every task") if rows else None,
    }


def _without_tf32(found: list[Chapter], gains: list[float]) -> dict[str, Any] | None:
    """The number of wins with TF32's errors and the mean with these set to 1; None for none."""
    marked = [chapter.gain for chapter in found if chapter.best and chapter.best[1].is_tf32]
    if not marked:
        return None
    others = geometric_mean(gains) ** len(gains) / prod(marked)
    return {"n": len(marked), "mean": others ** (1 / len(gains))}


def _spending(found: list[Chapter]) -> list[Spending]:
    """Of all tasks together; a task's calls count once, whatever devices it was judged on."""
    calls = {call.id: call for chapter in found for call in chapter.calls}
    return spending(list(calls.values()), [pair for c in found for pair in c.history])


def _gains(scores: Sequence[Score]) -> dict[str, list[float]]:
    """The gains of every level that can be told apart in one chart."""
    levels = sorted({score.level for score in scores})
    return {
        level: [s.gain for s in scores if s.level == level and not s.is_degenerate]
        for level in levels
    }


def _candidate_chart(chapter: Chapter) -> Markup | None:
    rows = [
        (
            f"{facts.short(found.candidate)} {proposal.candidate.dialect}",
            found.speedup,
            chapter.best is not None and found.candidate == chapter.best[1].candidate,
        )
        for proposal, found in chapter.pairs
        if found.speedup is not None
    ]
    title = "speedup of each candidate with its 95 % interval"
    return charts.intervals(rows[:N_CHARTED], title) if rows else None


def _search_charts(chapter: Chapter) -> Iterator[tuple[Markup, str]]:
    """Charts of the search over time, each with its caption."""
    if chapter.trials:
        tried = [trial.speedup for trial in chapter.trials]
        title = f"The {len(tried)} candidates that the tuner tried, and the best so far"
        yield charts.progress(tried, title, along="trials", over="eager"), title
    if not chapter.trials or len(chapter.history) > FEW_VERDICTS:
        judged = [found.speedup.median if found.speedup else None for _, found in chapter.history]
        title = f"The {len(judged)} verdicts, and the best so far"
        yield charts.progress(judged, title, along="verdicts", over="the library"), title


def _visible(value: Any) -> Any:
    """Any text that the template shows, without control characters; our own markup as it is."""
    return facts.printable(value) if type(value) is str else value


def _highlighted(source: str) -> Markup:
    shown = highlight(source, PythonLexer(), HtmlFormatter(cssclass="code"))
    return Markup(facts.printable(shown))


def _digest(script: str) -> str:
    """The form in which a page's policy names a script that it allows."""
    found = hashlib.sha256(script.encode()).digest()
    return f"sha256-{base64.b64encode(found).decode()}"


def _style() -> str:
    """The page's style sheet with the highlighting's colours for light and dark."""
    sheet = (Path(__file__).parent / "templates" / "page.css").read_text(encoding="utf-8")
    light = HtmlFormatter(style=LIGHT).get_style_defs(".code")
    dark = HtmlFormatter(style=DARK).get_style_defs(".code")
    return f"{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\n{sheet}"
