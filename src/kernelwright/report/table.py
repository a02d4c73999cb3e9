"""Tables for a terminal: the candidates of a search, and the tasks of a suite."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from kernelwright.archive import ranking
from kernelwright.archive.conclusion import WORDS
from kernelwright.archive.ranking import Pair
from kernelwright.core.evaluation import TF32, Evaluation, Ratio
from kernelwright.core.standing import SearchOutcome
from kernelwright.report.exams import PolicySummary
from kernelwright.report.facts import (
    MAX_REASON,
    beside_best,
    first_looks,
    mean_text,
    one_line,
    ordered,
    printable,
    ratio_text,
    share_text,
    short,
)
from kernelwright.report.techniques import Ablation

N_SHOWN = 25  # what fits on a screen; the report and the archive hold all
NARROW_REASON = 100  # characters of a reason where it has a fifth of the screen
NARROW_NAME = 40  # of a file; the JSON has all
WIDE = 110  # columns from which a row needs one line


@dataclass(frozen=True)
class Fitting:
    """A table that stacks what belongs together where the terminal is narrow."""

    fill: Callable[[bool], Table]
    """Makes the table; told whether the terminal is wide."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self.fill(options.max_width >= WIDE)


def candidate_table(history: list[Pair], best: Pair | None) -> Fitting:
    """The candidates, the best first: status, kind of win, speedups, and why the losers lost.

    The last verdict on each counts, which is the confirming one where it was measured again.
    """
    pairs, first = ordered(history), first_looks(history)

    def fill(is_wide: bool) -> Table:
        table = plain_table("candidate", "verdict", "× eager", "× compile", "× strongest", "why")
        for proposal, evaluation in pairs[:N_SHOWN]:
            is_best = best is not None and evaluation.candidate == best[1].candidate
            speedups = evaluation.timing.speedups if evaluation.timing else {}
            kinds = evaluation.marks if ranking.wins(evaluation) else ()
            named = (short(evaluation.candidate), proposal.candidate.dialect)
            ratios = (speedups.get("eager"), speedups.get("compile"), evaluation.speedup)
            why = beside_best(evaluation, best, first.get(evaluation.candidate))
            table.add_row(
                _stacked(is_wide, *named),
                _stacked(is_wide, evaluation.status.value, *kinds),
                *(_ratio(is_wide, ratio) for ratio in ratios),
                Text(printable(why, MAX_REASON if is_wide else NARROW_REASON)),
                style="bold" if is_best else "",
            )
        if len(pairs) > N_SHOWN:
            table.caption = f"{len(pairs) - N_SHOWN} more in the report"
        return table

    return Fitting(fill)


def shape_table(shapes: Sequence[dict[str, Any]]) -> Fitting:
    """The speedups of one candidate by shape. ``shapes`` are in their JSON form."""

    def fill(is_wide: bool) -> Table:
        table = plain_table("shape", "× eager", "× compile", "× strongest", "strongest")
        for shape in shapes:
            ratios = {name: Ratio(**ratio) for name, ratio in shape["speedup"].items()}
            wanted = ("eager", "compile", shape["strongest"])
            said = ", held out: nobody tuned for it" if shape["holdout"] else ""
            table.add_row(
                Text(one_line(shape["name"], NARROW_NAME), overflow="fold"),
                *(_ratio(is_wide, ratios.get(baseline)) for baseline in wanted),
                f"{shape['strongest'] or shape['status']}{said}",
                style="bold" if shape["wins"] else "",
            )
        return table

    return Fitting(fill)


def suite_table(tasks: Sequence[dict[str, Any]]) -> Fitting:
    """The tasks of a suite: what won or is undecided, and by how much.

    ``tasks`` are results in their JSON form.
    """

    def fill(is_wide: bool) -> Table:
        table = plain_table(
            "task", "win", "× eager", "× compile", "× strongest", "strongest, judged"
        )
        for task in tasks:
            name = Text(one_line(task["task"]["name"], 40), overflow="fold")
            if "error" in task:
                said = Text(printable(task["error"]["what"], MAX_REASON))
                table.add_row(name, Text("error"), "", "", "", said, style="red")
                continue
            best, about = task["best"], task["best"] or task["undecided"]
            ratios = {n: Ratio(**r) for n, r in about["speedup"].items()} if about else {}
            wanted = ("eager", "compile", task["strongest"])
            won: tuple[str, ...] = (WORDS.get(SearchOutcome(task["outcome"]), ""),)
            if best:
                won = (best["dialect"], *best["kinds"], *([TF32] if best["tf32"] else []))
            table.add_row(
                name,
                _stacked(is_wide, *won),
                *(_ratio(is_wide, ratios.get(baseline)) for baseline in wanted),
                f"{task['strongest']}, {sum(task['candidates'].values())}",
            )
        return table

    return Fitting(fill)


def technique_table(found: Ablation) -> Table:
    """What each technique brought, the most first."""
    table = Table("technique", "tried, won", "alone", "without", "added", box=box.SIMPLE_HEAD)
    for row in found.techniques:
        means = (f"{mean:.3f}" for mean in (row.alone, row.without, row.added))
        table.add_row(Text(one_line(row.name, 60)), f"{row.n_tried}, {row.n_won}", *means)
    table.caption = (
        f"geometric means over {found.n_tasks} tasks of the speedup over the strongest library "
        f"setting; all combined {found.combined:.3f}, the product of what each brought alone "
        f"{found.product:.3f} (dialects not counted); what was left out had no substitute"
    )
    return table


def policy_table(policies: Sequence[PolicySummary]) -> Table:
    """Checkpoints beside one another, level by level."""
    fast = list(policies[0].fast)
    columns = ("checkpoint", "level", "tasks × answers", "right", *(f"fast_{p}" for p in fast))
    table = Table(
        *columns, "geomean, median of the right", "refused, copied", "best of", box=box.SIMPLE_HEAD
    )
    for each in policies:
        best = [f"{each.best_right.share:.0%} right"]
        best += [f"{share.share:.0%} fast_{p}" for p, share in each.best_fast.items()]
        best.append(f"mean {mean_text(each.best_mean)}")
        table.add_row(
            Text(one_line(each.policy, 60), overflow="fold"),
            each.level,
            f"{each.n_tasks} × {each.n_answers / each.n_tasks:.3g}",
            share_text(each.right),
            *(share_text(share) for share in each.fast.values()),
            f"{mean_text(each.geometric_mean)}\n{mean_text(each.median)}",
            f"{each.n_refused}, {each.n_copies}",
            f"{each.n_of}: " + ", ".join(best),
        )
    table.caption = "intervals: 95 %, over tasks; a best that the library beats counts 1"
    return table


def file_table(groups: Sequence[Sequence[tuple[str, Evaluation | None, str]]]) -> Fitting:
    """Files with their verdicts, if they have one, and a few words on each; a line between groups.

    Names and words may come from a stranger.
    """

    def fill(is_wide: bool) -> Table:
        table = plain_table("file", "verdict", "× eager", "× compile", "× strongest", "why")
        for group in groups:
            for name, evaluation, why in group:
                _add_file(table, is_wide, name, evaluation, why)
            table.add_section()
        return table

    return Fitting(fill)


def _add_file(
    table: Table, is_wide: bool, name: str, evaluation: Evaluation | None, why: str
) -> None:
    words: tuple[str, ...] = ("–",)
    speedups: dict[str, Ratio] = {}
    if evaluation is not None:
        speedups = evaluation.timing.speedups if evaluation.timing else {}
        words = (evaluation.status.value, *(evaluation.marks if ranking.wins(evaluation) else ()))
    strongest = evaluation.speedup if evaluation else None
    table.add_row(
        Text(one_line(name, NARROW_NAME), overflow="fold"),
        _stacked(is_wide, *words),
        *(_ratio(is_wide, r) for r in (speedups.get("eager"), speedups.get("compile"), strongest)),
        Text(printable(why, MAX_REASON if is_wide else NARROW_REASON)),
        style="bold" if evaluation and ranking.wins(evaluation) else "",
    )


def verdict_table(rows: list[tuple[str, str]]) -> Table:
    """Names and values; the values may come from a stranger."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(name, Text(printable(value)))
    return table


def plain_table(*columns: str) -> Table:
    """An empty table whose last column takes the room that the others leave."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for name in columns:
        table.add_column(name, no_wrap=name != columns[-1], overflow="fold")
        table.columns[-1].justify = "right" if name.startswith("×") else "left"
    return table


def _stacked(is_wide: bool, *parts: str) -> Text:
    return Text((" " if is_wide else "\n").join(part for part in parts if part))


def _ratio(is_wide: bool, ratio: Ratio | None) -> Text:
    text = ratio_text(ratio)
    return Text(text if is_wide else text.replace(" (", "\n").rstrip(")"))
