"""A kernel against itself: how often the judge's interval of the speedup holds 1.0.

    python benchmarks/judge_aa.py [--task NAME ...] [--repeats 20] [--judges 1] [--device cpu]
        [--threads N] [--size small] [--elements 256 4096 65536]

``--elements`` takes a chain of five pointwise operators on so many numbers in place of tasks: calls
of some microseconds. The candidate is the reference's own text, so that its true speedup over eager
is 1. Every repeat is a whole verdict in a process of its own; ``--judges`` begins anew with other
processes for the baselines too. Printed are the share of intervals that hold 1.0 with the share's
own interval, the medians' spread, and the share of pairs of verdicts whose intervals against the
strongest setting have a point in common, which is what a repeated receipt must show. Nothing else
should run.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from statistics import median

from rich.console import Console
from rich.table import Table
from shares import share

from kernelwright.archive.repetition import overlap
from kernelwright.core.candidate import Candidate
from kernelwright.core.device import Device
from kernelwright.core.evaluation import Evaluation
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.dialects.devices import resolve
from kernelwright.judge import Judge
from kernelwright.suites.suite import builtin_suite

TASKS = ("softmax", "gemm_bias_gelu", "elementwise_chain")
"""Bound by memory with a reduction, by arithmetic, and by memory with many small operators."""
CHAIN = """
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.tanh(x * 0.5 + 1).sub(0.25).abs().sqrt()


def get_inputs():
    return [torch.randn({})]


def get_init_inputs():
    return []
"""


def repeat(task: Task, settings: Settings, *, repeats: int, judges: int) -> list[Evaluation]:
    """The verdicts on a task's reference as its own candidate."""
    found = []
    device = resolve(Device.parse(settings.device))
    for _ in range(judges):
        with Judge(task, device=device, settings=settings) as judge:
            for number in range(repeats):
                text = f"{task.source}\n\nModelNew = {task.entry}  # {number}\n"
                verdict = judge.evaluate(Candidate(text, "torch"))
                found.append(verdict)
                timing = verdict.timing
                said = timing.speedups["eager"] if timing else verdict.why
                print(f"{task.name}: {len(found)} of {judges * repeats}: {said}", file=sys.stderr)
    return found


def tell(found: dict[str, list[Evaluation]], console: Console) -> None:
    table = Table("task", "holds 1.0", "medians", "rounds", "pairs in agreement", "not timed")
    all_hits: list[bool] = []
    for name, verdicts in found.items():
        timed = [verdict for verdict in verdicts if verdict.timing is not None]
        spans = [verdict.timing.speedups["eager"] for verdict in timed]
        if not spans:
            table.add_row(name, "–", "–", "–", "–", f"{len(verdicts)}: {verdicts[0].why}")
            continue
        hits = [span.low <= 1 <= span.high for span in spans]
        pairs = itertools.combinations([verdict.speedup for verdict in timed], 2)
        all_hits += hits
        medians = sorted(span.median for span in spans)
        table.add_row(
            name,
            share(sum(hits), len(hits)),
            f"{medians[0]:.3f} {median(medians):.3f} {medians[-1]:.3f}",
            f"{median(len(verdict.timing.samples_ns['eager']) for verdict in timed):.0f}",
            f"{sum(same := [overlap(*pair) for pair in pairs])} of {len(same)}",
            str(len(verdicts) - len(timed)),
        )
    console.print(table, "medians: least, middle, greatest; rounds: the middle one")
    if all_hits:
        console.print(f"all: {share(sum(all_hits), len(all_hits))}; stated: 95 %")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--task", nargs="*", default=list(TASKS))
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--judges", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--size", help="of the tasks; small: calls of 0.1 to 0.3 ms")
    parser.add_argument("--elements", type=int, nargs="*", help="of chains, in place of tasks")
    parser.add_argument("--threads", type=int, default=Settings().threads)
    options = parser.parse_args()
    settings = Settings(device=options.device, threads=options.threads)
    entries = builtin_suite(options.device, size=options.size)
    tasks = {entry.name: entry.task for entry in entries}
    for name in options.task:
        if name not in tasks:
            parser.error(f"no built-in task is called {name}: {', '.join(tasks)}")
    chosen = [tasks[name] for name in options.task]
    if options.elements:
        chosen = [Task(f"chain of {n}", "builtin", CHAIN.format(n)) for n in options.elements]
    found = {}
    for task in chosen:
        found[task.name] = repeat(task, settings, repeats=options.repeats, judges=options.judges)
    tell(found, Console(width=120))


if __name__ == "__main__":
    main()
