"""Tables for a terminal: the candidates of a search, and the tasks of a suite."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from kernelwright import select
from kernelwright.core.evaluation import Ratio
from kernelwright.report.facts import (
    MAX_REASON,
    ordered,
    outcome,
    printable,
    ratio_text,
    short,
)
from kernelwright.select import Pair

N_SHOWN = 25  # what fits on a screen; the report and the archive hold all


def candidate_table(history: list[Pair], best: Pair | None) -> Table:
    """The candidates, the best first: status, kind of win, speedups, and why the losers lost."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("candidate", "dialect", "status", "win"):
        table.add_column(name, no_wrap=True)
    for name in ("× eager", "× compile", "× strongest"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("why", overflow="fold", ratio=1)
    pairs = ordered(history)
    if best is not None:  # its confirming verdict, not an earlier one
        others = [p for p in pairs if p[0].candidate.digest != best[1].candidate]
        pairs = [best, *others]
    for proposal, evaluation in pairs[:N_SHOWN]:
        speedups = evaluation.timing.speedups if evaluation.timing else {}
        table.add_row(
            short(evaluation.candidate),
            proposal.candidate.dialect,
            evaluation.status.value,
            " ".join(evaluation.kinds) if select.wins(evaluation) else "–",
            ratio_text(speedups.get("eager")),
            ratio_text(speedups.get("compile")),
            ratio_text(evaluation.speedup),
            Text(outcome(evaluation, best)),
            style="bold" if best is not None and evaluation.candidate == best[1].candidate else "",
        )
    if len(pairs) > N_SHOWN:
        table.caption = f"{len(pairs) - N_SHOWN} more in the report"
    return table


def suite_table(tasks: list[dict[str, Any]]) -> Table:
    """The tasks of a suite: what won, and by how much. ``tasks`` are results in their JSON form."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in ("task", "dialect", "win"):
        table.add_column(column, no_wrap=column != "win", overflow="fold")
    for column in ("× eager", "× compile", "× strongest"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("strongest", no_wrap=True)
    table.add_column("judged", justify="right")
    for task in tasks:
        name = Text(printable(task["task"]["name"], 40))
        if "error" in task:
            table.add_row(name, "", Text(printable(task["error"]["what"], MAX_REASON)), style="red")
            continue
        best = task["best"]
        ratios = {n: Ratio(**r) for n, r in best["speedup"].items()} if best else {}
        wanted = ("eager", "compile", task["strongest"])
        table.add_row(
            name,
            best["dialect"] if best else "",
            " ".join(best["kinds"]) if best else "library stays best",
            *(ratio_text(ratios.get(baseline)) for baseline in wanted),
            task["strongest"],
            str(sum(task["candidates"].values())),
        )
    return table


def verdict_table(rows: list[tuple[str, str]]) -> Table:
    """Names and values; the values may come from a stranger."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(name, Text(printable(value)))
    return table
