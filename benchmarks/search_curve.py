"""What trials bring over the first candidate, by the time that they may take, and what the judge
says of the winners.

    python benchmarks/search_curve.py [TASK.py ...] [--device cuda] [--budget 1s --budget 4s …]
        [--archive ARCHIVE]

Every task is searched once, for the longest budget; the winner of a shorter one is the best trial
of until then, counted from the start of the tuner, with the opening of the task. At the end the
first candidate and the winners are raced side by side, and the ratios of their times are printed
with the geometric means. The judge then judges the first candidate and the last winner: it
disagrees if it refuses the winner, or finds it slower than the first one. With an archive, its
trials of other tasks teach the cost model, and the new ones are kept there.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean

from rich.console import Console
from rich.table import Table
from tuned import BUILTIN, Tuned, Untunable, timed_dialects, tuned

from kernelwright.archive import Archive
from kernelwright.core.candidate import Proposal
from kernelwright.core.device import Device
from kernelwright.core.evaluation import CANDIDATE, Evaluation
from kernelwright.core.settings import Settings, parse_seconds
from kernelwright.core.trial import Trial
from kernelwright.dialects.devices import gpu_name, resolve
from kernelwright.judge import SharedForkServer, SharedForkServerProcess
from kernelwright.loaders import load
from kernelwright.tuner.cost_model import MOST_TRIALS
from kernelwright.tuner.racing import FINAL_STAGES
from kernelwright.tuner.trials import TUNER_VERSION

TASKS = ("rms_norm", "softmax", "layer_norm", "cross_entropy", "gemm_bias_gelu", "group_norm")
BUDGETS = ("1s", "4s", "15s", "60s")


@dataclass(frozen=True)
class Curve:
    """One task's search."""

    gains: Sequence[float]
    """Times of the first candidate over those of the winner, by budget."""
    n_trials: int
    order: str
    disagreement: str
    """Why the judge disagrees with the tuner; empty if it agrees."""


def searched(
    path: Path,
    device: Device,
    budgets_s: Sequence[float],
    server: SharedForkServer,
    archive: Archive | None,
    dialects: Sequence[str],
) -> Curve:
    """Search one task.

    Raises:
        Untunable: the task cannot be tried.
    """
    task, log, past = load(path), [], None
    start_s = 0.0
    if archive is not None:
        device_name = str(device.key)
        past = archive.past_trials(
            device=device_name, version=TUNER_VERSION, n=MOST_TRIALS, without_task=task.digest
        )

    def on_trials(trials: Sequence[Trial]) -> None:
        log.append((time.monotonic() - start_s, trials))

    longest_s = max(budgets_s)
    with tuned(
        task, device, dialects, server, budget_s=longest_s, on_trials=on_trials, past=past
    ) as opened:
        start_s = time.monotonic()
        opened.tuner.run(start_s + longest_s)
        by_name = {p.candidate.digest: p for p in opened.tuner.leaders}
        if not by_name:
            raise Untunable("no trial succeeded")
        if archive is not None:
            archive.add_task(task)
            run = archive.start_run(task, Settings(device=str(device)))
            for _, trials in log:
                archive.add_trials(run, opened.judge.environment, TUNER_VERSION, trials)
        timed = [(s, t) for s, trials in log for t in trials if t.candidate in by_name]
        first = timed[0][1].candidate
        winners = [_winner(timed, budget_s) or first for budget_s in budgets_s]
        winners[-1] = opened.tuner.finalists(1)[0].candidate.digest
        names = list(dict.fromkeys((first, *winners)))
        trials = opened.runner.measure([by_name[name] for name in names], FINAL_STAGES)
        times_ns = {t.candidate: t.time_ns or float("inf") for t in trials}
        gains = [times_ns[first] / times_ns[name] for name in winners]
        why = disagreement(opened, by_name[first], by_name[winners[-1]])
        order = f"{opened.tuner.quality().rank_correlation:.2f}"
        return Curve(gains, sum(len(trials) for _, trials in log), order, why)


def _winner(timed: Sequence[tuple[float, Trial]], budget_s: float) -> str | None:
    """The best trial of a budget; None if no race had ended then."""
    known = [trial for end_s, trial in timed if end_s <= budget_s]
    return min(known, key=lambda trial: trial.time_ns).candidate if known else None


def disagreement(opened: Tuned, first: Proposal, winner: Proposal) -> str:
    """Why the judge disagrees with the tuner about a winner; empty if it agrees."""
    found = opened.judge.evaluate(winner.candidate)
    if not found.passed:
        return f"{found.status}: {found.reasons[0].code if found.reasons else ''}"
    before = found if first == winner else opened.judge.evaluate(first.candidate)
    if not before.passed:
        return ""
    ratio = _median_ns(before) / _median_ns(found)
    return "" if ratio > 0.98 else f"slower than the first: {ratio:.2f}"


def _median_ns(found: Evaluation) -> float:
    assert found.timing is not None
    return found.timing.median_ns(CANDIDATE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tasks", nargs="*", type=Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dialect", action="append", default=[])
    parser.add_argument("--budget", action="append", default=[])
    parser.add_argument("--archive")
    options = parser.parse_args()
    device = resolve(Device.parse(options.device))
    paths = options.tasks or [BUILTIN / name / "task.py" for name in TASKS]
    dialects = timed_dialects(options.dialect, device)
    budgets = options.budget or BUDGETS
    budgets_s = sorted(map(parse_seconds, budgets))
    table = Table("task", *(f"{budget_s:g} s" for budget_s in budgets_s))
    for name in ("trials", "order", "the judge disagrees"):
        table.add_column(name)
    curves = []
    with ExitStack() as stack:
        server = stack.enter_context(SharedForkServerProcess())
        archive = stack.enter_context(Archive(options.archive)) if options.archive else None
        for path in paths:
            try:
                curve = searched(path, device, budgets_s, server, archive, dialects)
            except Untunable as reason:
                table.add_row(path.parent.name, str(reason))
                continue
            curves.append(curve)
            gains = (f"{gain:.2f}" for gain in curve.gains)
            told = (str(curve.n_trials), curve.order, curve.disagreement)
            table.add_row(path.parent.name, *gains, *told)
    if curves:
        means = (geometric_mean(gains) for gains in zip(*(c.gains for c in curves), strict=True))
        n_disagreements = sum(bool(curve.disagreement) for curve in curves)
        told = (str(sum(c.n_trials for c in curves)), "", f"{n_disagreements} of {len(curves)}")
        table.add_row("geometric mean", *(f"{mean:.2f}" for mean in means), *told)
    name = gpu_name(device) if device.kind == "cuda" else "CPU"
    Console(width=120).print(table, f"{name}: the first candidate's time over the winner's")


if __name__ == "__main__":
    main()
