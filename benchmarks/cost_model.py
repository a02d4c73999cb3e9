"""How well the cost model orders the candidates of tasks that it has not learned from.

    python benchmarks/cost_model.py ARCHIVE [--device cuda] [--collect 5s] [TASK.py ...]

With ``--collect`` the tuner first tries candidates of every task (default: the built-in suite) for
so long, each dialect by itself, and archives the trials. Then the tasks of the archive are dealt
into five folds, and each fold is ordered by a model of the other four, by the prior alone, and by
the list in which its candidates were tried. Printed: Spearman's rank correlation with the measured
times, and by how much more time than the best of all the best of the first 1, 4 and 8 took.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table
from tuned import BUILTIN, Untunable, timed_dialects, tuned

from kernelwright.archive import Archive
from kernelwright.core.device import Device
from kernelwright.core.settings import Settings, parse_seconds
from kernelwright.core.trial import Trial
from kernelwright.dialects.devices import resolve
from kernelwright.judge import Judge, SharedForkServerProcess
from kernelwright.loaders import load
from kernelwright.tuner.cost_model import MOST_TRIALS, held_out
from kernelwright.tuner.prior import machine
from kernelwright.tuner.trials import TUNER_VERSION


def keep(archive: Archive, run: str, judge: list[Judge], trials: Sequence[Trial]) -> None:
    archive.add_trials(run, judge[0].environment, TUNER_VERSION, trials)


def collect(archive: Archive, paths: Sequence[Path], device: Device, budget_s: float) -> None:
    """Try candidates of every task, and archive the trials."""
    with SharedForkServerProcess() as server:
        for path in paths:
            task, found = load(path), [0]
            start_s = time.monotonic()
            for dialect in timed_dialects((), device):
                judge: list[Judge] = []
                archive.add_task(task)
                run = archive.start_run(task, Settings(device=str(device)))
                told = partial(keep, archive, run, judge)

                def on_trials(trials: Sequence[Trial], told=told, found=found) -> None:
                    told(trials)
                    found[0] += len(trials)

                try:
                    with tuned(
                        task, device, (dialect,), server, budget_s=budget_s, on_trials=on_trials
                    ) as opened:
                        judge.append(opened.judge)
                        opened.tuner.run(time.monotonic() + budget_s)
                except Untunable as reason:
                    print(f"{path.parent.name}: {reason}", flush=True)
            took_s = time.monotonic() - start_s
            print(f"{path.parent.name}: {found[0]} trials in {took_s:.0f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("archive")
    parser.add_argument("tasks", nargs="*", type=Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--collect", metavar="TIME")
    options = parser.parse_args()
    table = Table("order", "rank correlation", "top 1", "top 4", "top 8")
    with Archive(options.archive) as archive:
        if options.collect:
            paths = options.tasks or sorted(BUILTIN.glob("*/task.py"))
            device = resolve(Device.parse(options.device))
            collect(archive, paths, device, parse_seconds(options.collect))
            name = str(device.key)
        else:
            name = options.device
        past = archive.past_trials(device=name, version=TUNER_VERSION, n=MOST_TRIALS)
    threads = 2 if name == "cpu" else 1
    for order, found in held_out(machine(name.split(":")[0], threads), past).items():
        regrets = (f"{100 * share:.1f} %" for share in found.regret.values())
        table.add_row(order, f"{found.rank_correlation:.2f}", *regrets)
    n_trials = sum(map(len, past.values()))
    Console(width=100).print(table, f"{n_trials} trials of {len(past)} tasks on {name}, held out")


if __name__ == "__main__":
    main()
