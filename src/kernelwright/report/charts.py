"""Charts as SVG text that takes its colours from the page, so that they fit light and dark."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from kernelwright.core.evaluation import Ratio

WIDTH_IN = 4.6  # 440 CSS pixels: readable when a phone's 360 show it whole
ROW_IN = 0.24
CHARACTER_IN = 0.078  # 9 points of a wide sans-serif face
# Colours that stand for the page's variables; replaced in the text of the SVG.
INK, FAINT, GOOD, PLAIN, BAD = "#010101", "#020202", "#030303", "#040404", "#050505"
_VARIABLES = {INK: "ink", FAINT: "faint", GOOD: "good", PLAIN: "plain", BAD: "bad"}
LEVEL_COLOURS, DASHES = (GOOD, PLAIN, BAD, INK), ("-", "--", ":")
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",  # text stays text: selectable, and in the page's font
    "font.family": "sans-serif",
    "font.size": 9,
    "text.parse_math": False,  # a name may hold dollar signs
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "text.color": INK,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": INK,
    "ytick.color": INK,
    "grid.color": FAINT,
    "grid.linewidth": 0.4,
}


def intervals(rows: Sequence[tuple[str, Ratio, bool]], title: str) -> Markup:
    """Speedups with their intervals, one row each: (label, speedup, whether it is the winner)."""
    with mpl.rc_context(_STYLE | {"svg.hashsalt": "intervals"}):
        figure, axes = _rows([label for label, _, _ in rows])
        ratios = [ratio for _, ratio, _ in rows]
        colours = [GOOD if wins else BAD if ratio.high < 1 else PLAIN for _, ratio, wins in rows]
        lows, highs = [ratio.low for ratio in ratios], [ratio.high for ratio in ratios]
        axes.hlines(range(len(rows)), lows, highs, colors=colours, linewidth=2)
        axes.scatter([r.median for r in ratios], range(len(rows)), c=colours, s=24, zorder=3)
        _speedup_axis(axes)
        return _svg(figure, title)


def bars(rows: Sequence[tuple[str, float]], title: str) -> Markup:
    """One bar per task from 1, the library's own speed."""
    with mpl.rc_context(_STYLE | {"svg.hashsalt": "bars"}):
        figure, axes = _rows([label for label, _ in rows])
        for position, (_, gain) in enumerate(rows):
            axes.barh(position, gain - 1, left=1, color=GOOD, height=0.6)
            axes.text(gain, position, f" {gain:.2f}", va="center", fontsize=8)
        axes.set_xlim(0.98, max(gain for _, gain in rows) * 1.15)
        _speedup_axis(axes)
        return _svg(figure, title)


def progress(speedups: Sequence[float | None], title: str, *, along: str, over: str) -> Markup:
    """Every candidate's speedup ``over`` something, in order, and the best so far.

    None stands for a candidate that has no time: it failed, or was not timed. ``along`` names what
    the axis of the order counts.
    """
    with mpl.rc_context(_STYLE | {"svg.hashsalt": "progress"}):
        figure, axes = _figure(2.4)
        numbers = range(1, len(speedups) + 1)
        best, so_far = 0.0, []
        for speedup in speedups:
            best = max(best, speedup or 0.0)
            so_far.append(best or math.nan)
        axes.step(numbers, so_far, where="post", color=GOOD, linewidth=1.5)
        timed = [(n, s) for n, s in zip(numbers, speedups, strict=True) if s is not None]
        axes.plot([n for n, _ in timed], [s for _, s in timed], "o", color=PLAIN, markersize=4)
        failed = [n for n, s in zip(numbers, speedups, strict=True) if s is None]
        floor = min([1.0, *(s for _, s in timed)]) * 0.85
        axes.plot(failed, [floor] * len(failed), "x", color=BAD, markersize=4)
        axes.axhline(1, color=FAINT, linewidth=1)
        axes.set_xlabel(f"{along}, in order" + (" (crosses: not timed)" if failed else ""))
        axes.set_ylabel(f"speedup over {over}")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.yaxis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 5, 10]))
        axes.yaxis.set_major_formatter(FuncFormatter(_times))
        axes.grid(axis="y")
        return _svg(figure, title)


def lines(
    named: Mapping[str, Sequence[tuple[float, float]]], title: str, top: float | None = None
) -> Markup:
    """A line by step for each name; ``top`` where the axis ends, from 0, if it is known."""
    with mpl.rc_context(_STYLE | {"svg.hashsalt": "lines"}):
        figure, axes = _figure(2.4)
        for number, (name, points) in enumerate(named.items()):
            axes.plot(
                [step for step, _ in points], [value for _, value in points], linewidth=1.5,
                marker="o", markersize=3, color=LEVEL_COLOURS[number % 4],
                linestyle=DASHES[number // 4 % 3], label=name,
            )  # fmt: skip
        if top is not None:
            axes.set_ylim(0, top * 1.02)
        steps = [step for points in named.values() for step, _ in points]
        axes.set_xlim(min(steps) - 0.5, max(steps) + 0.5)
        axes.set_xlabel("step")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.grid(axis="y")
        axes.legend(frameon=False)
        return _svg(figure, title)


def fast_p(gains: Mapping[str, Sequence[float]], title: str) -> Markup:
    """The share of each level's tasks that became more than p times as fast, over p."""
    with mpl.rc_context(_STYLE | {"svg.hashsalt": "fast_p"}):
        figure, axes = _figure(2.4)
        most = max((gain for level in gains.values() for gain in level), default=1.0) * 1.1
        named = ((level, found) for level, found in gains.items() if found)
        for number, (level, found) in enumerate(named):
            ordered = sorted(found)
            shares = [(len(ordered) - i) / len(ordered) for i in range(len(ordered))]
            axes.step(
                [1.0, *ordered, most], [*shares[:1], *shares, 0.0], where="pre", linewidth=1.5,
                color=LEVEL_COLOURS[number % 4], linestyle=DASHES[number // 4 % 3], label=level,
            )  # fmt: skip
        axes.set_xlim(1.0, max(most, 1.1))
        axes.set_ylim(0, 1)
        axes.set_xlabel("p: speedup over the strongest library setting")
        axes.set_ylabel("share of tasks")
        axes.xaxis.set_major_formatter(FuncFormatter(_times))
        axes.grid(axis="both")
        axes.legend(frameon=False, title="level")
        return _svg(figure, title)


def _figure(height_in: float, left_in: float = 0.75) -> tuple[Figure, Axes]:
    """A figure whose margins are set by hand: matplotlib's own layout takes most of its time."""
    figure = Figure(figsize=(WIDTH_IN, height_in))
    bottom, top = 0.5 / height_in, 1 - 0.08 / height_in
    figure.subplots_adjust(left_in / WIDTH_IN, bottom, 1 - 0.12 / WIDTH_IN, top)
    return figure, figure.add_subplot()


def _rows(labels: Sequence[str]) -> tuple[Figure, Axes]:
    """A figure with one labelled row per label, the first on top."""
    longest = max(len(label) for label in labels)
    figure, axes = _figure(len(labels) * ROW_IN + 0.6, 0.15 + longest * CHARACTER_IN)
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    return figure, axes


def _speedup_axis(axes: Axes) -> None:
    axes.axvline(1, color=FAINT, linewidth=1)
    axes.set_xlabel("speedup over the strongest library setting")
    axes.xaxis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(_times))
    axes.grid(axis="x")
    axes.set_axisbelow(True)


def _times(value: float, _position: int) -> str:
    return f"{value:g}×"


def _svg(figure: Figure, title: str) -> Markup:
    """The figure as an SVG element for the inside of a page, named for screen readers."""
    buffer = io.StringIO()
    FigureCanvasSVG(figure).print_svg(buffer, metadata={"Date": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.S)
    text = re.sub(r'font: ([^;"]*?)(?:\'[^;"]*|sans-serif[^;"]*)', r"font: \1var(--sans)", text)
    for colour, variable in _VARIABLES.items():
        text = text.replace(colour, f"var(--{variable})")
    label = Markup.escape(title)
    return Markup(text.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1))
