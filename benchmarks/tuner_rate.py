"""How many candidates the tuner tries a second, and what that brings over the first candidate.

    python benchmarks/tuner_rate.py [TASK.py ...] [--device cuda] [--dialect triton] [--budget 20s]

For every task and dialect: trials a second, of all and after the first race; the seconds at which
races ended; how trials ended; and the best speedup over eager after 1, 4, 16 and more trials. At
the end the best and the first candidate are raced once more, side by side. Trials are no verdicts.
Targets: 15 trials a second for kernels below 1 ms on a GPU with 16 cores, 4 on two CPU cores.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from tuned import BUILTIN, Untunable, timed_dialects, tuned

from kernelwright.core.candidate import Proposal
from kernelwright.core.device import Device
from kernelwright.core.settings import parse_seconds
from kernelwright.core.task import Task
from kernelwright.core.trial import Trial
from kernelwright.dialects.devices import gpu_name, resolve
from kernelwright.judge import SharedForkServer, SharedForkServerProcess
from kernelwright.loaders import load
from kernelwright.tuner.racing import FINAL_STAGES

TASKS = ("rms_norm", "softmax", "layer_norm", "cross_entropy", "gemm_bias_gelu", "conv_bias_relu")
CURVE = (1, 4, 16, 64, 256, 1024)


class Log:
    """The trials of one search, with the time at which each race ended."""

    def __init__(self) -> None:
        self.start_s = time.monotonic()
        self.races: list[tuple[float, Sequence[Trial]]] = []

    def __call__(self, trials: Sequence[Trial]) -> None:
        self.races.append((time.monotonic() - self.start_s, trials))

    @property
    def trials(self) -> list[Trial]:
        return [trial for _, trials in self.races for trial in trials]

    def rates(self) -> str:
        """Trials a second: of all, and of those after the first race."""
        ends = [end_s for end_s, _ in self.races]
        whole = len(self.trials) / ends[-1]
        later = len(self.trials) - len(self.races[0][1])
        return f"{whole:.1f}" + (f", {later / (ends[-1] - ends[0]):.1f}" if later else "")

    def curve(self) -> list[str]:
        best = [max((t.speedup or 0.0 for t in self.trials[:n]), default=0.0) for n in CURVE]
        whole = len(self.trials)
        return [f"{b:.2f}" if i == 0 or CURVE[i - 1] < whole else "" for i, b in enumerate(best)]


def measured(
    task: Task, device: Device, dialect: str, budget_s: float, server: SharedForkServer
) -> list[str]:
    """Search a task in one dialect; return the cells of a row."""
    log = Log()
    try:
        with tuned(task, device, (dialect,), server, budget_s=budget_s, on_trials=log) as opened:
            log.start_s = time.monotonic()
            opened.tuner.run(time.monotonic() + budget_s)
            if not opened.tuner.leaders:
                why = [f"{trial.outcome}: {trial.detail}" for trial in log.trials]
                return ["no trial succeeded: " + (why or ["there is none"])[0][:100]]
            best = opened.tuner.finalists(1)[0]
            first = next(p for p in opened.tuner.leaders[::-1] if is_first(p, log))
            pair = opened.runner.measure([first, best], FINAL_STAGES) if first != best else []
    except Untunable as reason:
        return [str(reason)]
    gain = pair[0].time_ns / pair[1].time_ns if pair else 1.0
    ends = " ".join(f"{end_s:.1f}" for end_s, _ in log.races[:12])
    outcomes = Counter(str(trial.outcome) for trial in log.trials)
    told = " ".join(f"{n} {outcome}" for outcome, n in outcomes.items())
    fastest_us = min(t.time_ns for t in log.trials if t.time_ns) / 1e3
    return [log.rates(), told, f"{fastest_us:.0f}", *log.curve(), f"{gain:.2f}", ends]


def is_first(proposal: Proposal, log: Log) -> bool:
    """Whether a candidate is the first that was measured."""
    timed = [trial.candidate for trial in log.trials if trial.time_ns is not None]
    return proposal.candidate.digest == timed[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tasks", nargs="*", help="task files; default: some of the built-in suite")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dialect", action="append", default=[])
    parser.add_argument("--budget", default="20s")
    options = parser.parse_args()
    device = resolve(Device.parse(options.device))
    dialects = timed_dialects(options.dialect, device)
    paths = [Path(one) for one in options.tasks] or [BUILTIN / one / "task.py" for one in TASKS]
    table = Table("task", "dialect", "trials a s", "outcomes", "best µs")
    for n in CURVE:
        table.add_column(f"≤ {n}")
    table.add_column("best / first")
    table.add_column("races ended at s")
    with SharedForkServerProcess() as server:
        for path in paths:
            for dialect in dialects:
                row = measured(load(path), device, dialect, parse_seconds(options.budget), server)
                table.add_row(path.parent.name, dialect, *row)
    console = Console(width=200)
    name = gpu_name(device) if device.kind == "cuda" else "CPU"
    console.print(table, f"{name}, {device}; trials a second: of all, and after the first race")


if __name__ == "__main__":
    main()
