"""What a verdict costs: seconds per judged candidate, split into build, check and time.

    python benchmarks/judge_cost.py ARCHIVE [ARCHIVE ...] [--reasons]

Reads the costs that the judge wrote down with every verdict of real runs, so that the figures are
those of the searches themselves. Targets: under 2 s on the CPU suite, under 4 s on a GPU for tasks
whose eager run is below 5 ms. With ``--reasons``, also why the losers lost.
"""

from __future__ import annotations

import argparse
from collections import Counter
from statistics import median

from rich.console import Console
from rich.table import Table

from kernelwright.archive import Archive
from kernelwright.core.evaluation import Evaluation

FAST_EAGER_NS = 5e6
"""The target speaks of tasks whose eager run is below 5 ms."""


def groups(evaluations: list[Evaluation]) -> dict[tuple[str, str], list[Evaluation]]:
    """Timed verdicts by device and by whether eager is below 5 ms."""
    found: dict[tuple[str, str], list[Evaluation]] = {}
    for evaluation in evaluations:
        if evaluation.timing is not None:
            is_fast = evaluation.timing.median_ns("eager") < FAST_EAGER_NS
            key = (evaluation.environment.device, "below 5 ms" if is_fast else "5 ms and more")
            found.setdefault(key, []).append(evaluation)
    return found


def timed_s(evaluation: Evaluation) -> float:
    """The seconds that the timed calls themselves took, the baselines' included."""
    assert evaluation.timing is not None  # only timed verdicts come here
    series = evaluation.timing.samples_ns.values()
    return sum(ns for samples in series for ns in samples if ns is not None) * 1e-9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("archives", nargs="+")
    parser.add_argument("--reasons", action="store_true")
    options = parser.parse_args()
    evaluations = []
    for path in options.archives:
        with Archive(path, create=False) as archive:
            evaluations += archive.evaluations()
    console = Console(width=140)
    table = Table("device", "eager", "verdicts", "build s", "check s", "time s", "in all s")
    table.add_column("timed calls s")
    for (device, speed), some in sorted(groups(evaluations).items()):
        parts = [[e.cost.build_s, e.cost.check_s, e.cost.time_s] for e in some]
        columns = [f"{median(column):.2f}" for column in zip(*parts, strict=True)]
        total = f"{median(sum(part) for part in parts):.2f}"
        calls = f"{median(map(timed_s, some)):.2f}"
        table.add_row(device, speed, str(len(some)), *columns, total, calls)
    console.print(table, "medians over timed verdicts")
    console.print("the rest of 'time s' is the judge's: inputs, caches flushed, outputs compared")
    if options.reasons:
        reasons = Counter((str(e.status), e.why[:240]) for e in evaluations if e.reasons)
        for (status, reason), n in reasons.most_common(40):
            console.print(f"{n} × {status}: {reason}", markup=False)


if __name__ == "__main__":
    main()
