"""Progress of a running command, shown on stderr."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import click
from rich.console import Console
from rich.live import Live
from rich.text import Text

from kernelwright.report.facts import one_line, ratio_text
from kernelwright.search.result import Progress


def search_line(progress: Progress, since_s: float) -> str:
    """Return the progress line of a search, ``since_s`` seconds after its last report."""
    left_s = max(0.0, progress.seconds_left - since_s)
    best = "no verdict yet"
    if progress.best:
        best = f"best {ratio_text(progress.best)} × · {progress.n_done} judged"
    elif progress.n_done:
        best = f"library is ahead · {progress.n_done} judged"
    return (
        f"{one_line(progress.task, 40)} · {best} · "
        f"{_trials(progress)}{_spent(progress)}{left_s:.0f} s left · {one_line(progress.doing, 80)}"
    )


PLAIN_EVERY_S = 3.0
"""Seconds between two lines where stderr is no terminal."""


class ShowProgress:
    """Shows progress on stderr: one line that is updated on a terminal.

    Elsewhere plain lines are written: one for a report that differs from the last one written, and
    at most one every ``plain_every_s`` seconds, notices apart. ``line`` makes the text from the
    last report and the seconds since then.
    """

    def __init__(
        self,
        line: Callable[[Any, float], str] = search_line,
        *,
        plain_every_s: float = PLAIN_EVERY_S,
    ) -> None:
        self._make_line = line
        self._last: Any = None
        self._written: Any = None
        self._written_s, self._plain_every_s = -math.inf, plain_every_s
        self._reported_s = time.monotonic()
        console = Console(stderr=True, highlight=False)
        self._is_terminal = console.is_terminal
        self._live = Live(console=console, get_renderable=self._line, transient=True)

    def __enter__(self) -> ShowProgress:
        if self._is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def __call__(self, report: Any) -> None:
        self._last, self._reported_s = report, time.monotonic()
        is_due = self._reported_s - self._written_s >= self._plain_every_s
        is_due |= getattr(report, "is_notice", False)
        if not self._is_terminal and is_due and report != self._written:
            self._written, self._written_s = report, self._reported_s
            click.echo(self._line().plain, err=True)

    def _line(self) -> Text:
        if self._last is None:
            return Text("reading the task, starting the baselines")
        text = self._make_line(self._last, time.monotonic() - self._reported_s)
        return Text(text, no_wrap=True, overflow="ellipsis")


def _trials(progress: Progress) -> str:
    """Return '120 trials, 5.2/s · ' if candidates were tried, else an empty text."""
    if not progress.n_trials:
        return ""
    return f"{progress.n_trials} trials, {progress.trials_per_s:.1f}/s · "


def _spent(progress: Progress) -> str:
    """Return '12.3 ktok, 0.0412 USD · ' if models were asked, else an empty text."""
    if not progress.tokens:
        return ""
    money = f", {progress.cost_usd:.4f} USD" if progress.cost_usd else ""
    return f"{progress.tokens / 1000:.1f} ktok{money} · "
