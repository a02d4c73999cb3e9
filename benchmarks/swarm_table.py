"""What a run of ``swarm.py`` comes to: a table for each level and dialect, with 95 % intervals.

Sources:
    Of shares: Wilson, J. Am. Stat. Assoc. 22 (1927), 209. Of differences between two columns on
    the same tasks: Agresti and Min, Statistics in Medicine 24 (2005), 729.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from shares import Z, share

from kernelwright.report.exams import share_of

Row = dict[str, Any]


def show(rows: Sequence[Row], names: Sequence[str], whole: str) -> None:
    """Print a table for each level and dialect; every column differs from ``whole`` in one thing.

    A speedup is that of the best right kernel over the strongest library setting, and 1 where
    nothing beat it, since that setting is then what a user gets.
    """
    for level, dialect in sorted({(row["level"], row["dialect"]) for row in rows}):
        here = [row for row in rows if (row["level"], row["dialect"]) == (level, dialect)]
        Console(width=170).print(f"level {level} {dialect}".strip(), summary(here, names))
        for line in (*differences(here, names, whole), *_by_model(here)):
            click.echo(line)


def summary(rows: Sequence[Row], names: Sequence[str]) -> Table:
    """A line per column."""
    table = Table("column", "tasks solved", "calls that passed, by task", "speedup: median, mean",
                  "tasks won", "verdicts", "ktok/verdict", "USD/verdict", "s/verdict",
                  "ktok/solved")  # fmt: skip
    for name in names:
        mine = [row for row in rows if row["column"] == name]
        if not mine:
            continue
        n_solved = sum(row["passed"] > 0 for row in mine)
        judged = sum(row["judged"] for row in mine)
        ktok, usd, spent_s = (sum(r[key] for r in mine) for key in ("tokens", "cost_usd", "took_s"))
        is_timed = any(row["timed"] for row in mine)
        table.add_row(
            name,
            share(n_solved, len(mine)),
            _of_calls(mine),
            _speedups(mine) if is_timed else "not timed",
            share(sum(row["wins"] for row in mine), len(mine)) if is_timed else "not timed",
            str(judged),
            _ratio(ktok / 1000, judged, ".1f"),
            _ratio(usd, judged, ".4f"),
            _ratio(spent_s, judged, ".1f"),
            _ratio(ktok / 1000, n_solved, ".0f"),
        )
    return table


def _of_calls(rows: Sequence[Row]) -> str:
    """The share of calls that passed; each task is one observation, since its calls are alike."""
    shares = [row["passed"] / row["generated"] for row in rows if row["generated"]]
    if not shares:
        return "0/0"
    calls = f"{sum(row['passed'] for row in rows)}/{sum(row['generated'] for row in rows)}"
    found = share_of(shares)
    return f"{calls}: {100 * found.share:.0f} % ({100 * found.low:.0f}–{100 * found.high:.0f})"


def _speedups(rows: Sequence[Row]) -> str:
    gains = [max(1.0, row["best"] or 1.0) for row in rows]
    return f"{statistics.median(gains):.2f}, {statistics.geometric_mean(gains):.2f}"


def _ratio(spent: float, n: int, form: str) -> str:
    return f"{spent / n:{form}}" if n else "–"


def differences(rows: Sequence[Row], names: Sequence[str], whole: str) -> list[str]:
    """One column against every other, on the tasks that both have."""
    solved = {name: {r["task"]: r["passed"] > 0 for r in rows if r["column"] == name}
              for name in names}  # fmt: skip
    mine = solved.get(whole, {})
    lines = []
    for name in names:
        both = mine.keys() & solved[name].keys() if name != whole else ()
        if both:
            more = sum(mine[task] and not solved[name][task] for task in both)
            less = sum(solved[name][task] and not mine[task] for task in both)
            points, low, high = (100 * part for part in paired(more, less, len(both)))
            lines.append(
                f"{whole} against {name}: {points:+.0f} points of {len(both)} tasks "
                f"({low:+.0f} to {high:+.0f}); {more} tasks only the one solved, {less} the other"
            )
    return lines


def paired(n_first: int, n_second: int, n: int) -> tuple[float, float, float]:
    """By how much the first of two shares of the same ``n`` is higher, with its interval; so many
    of the ``n`` only the first has, and so many only the second."""
    first, second, whole = n_first + 0.5, n_second + 0.5, n + 2
    middle = (first - second) / whole
    half = Z / whole * math.sqrt(first + second - (first - second) ** 2 / whole)
    return (n_first - n_second) / n, max(-1.0, middle - half), min(1.0, middle + half)


def _by_model(rows: Sequence[Row]) -> Iterable[str]:
    """Which model's calls passed when several were asked, and who is fastest alone."""
    together = [row for row in rows if len(row["models"]) > 1]
    asked = sum((Counter(row["asked_of"]) for row in together), Counter())
    passed = sum((Counter(row["passed_of"]) for row in together), Counter())
    for model, n in sorted(asked.items()):
        yield f"where several were asked, {model}: {share(passed[model], n)} calls passed"
    alone = [row for row in rows if row["column"] in row["models"] and row["best"]]
    fastest: Counter[str] = Counter()
    for task in {row["task"] for row in alone}:
        mine = [row for row in alone if row["task"] == task]
        fastest[max(mine, key=lambda row: row["best"])["column"]] += 1
    for model, n in fastest.items():
        yield f"{model} alone has the fastest kernel of all models alone on {n} tasks"
