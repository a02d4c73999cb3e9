"""The built-in suite on this CPU: what `optimize` finds, beside eager, torch.compile and the rest.

    python benchmarks/cpu_suite.py [--budget 60s] [--only NAME ...]

Prints one row per task: status of the winner, its kind, and the speedup (median and 95 % interval)
against eager, torch.compile, the faster of these two, and the strongest library setting. A task
where the library stays best counts 1.00 and says so. The last lines are geometric means.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import geometric_mean

from rich.console import Console
from rich.table import Table

from kernelwright.core.evaluation import CANDIDATE, Evaluation
from kernelwright.core.settings import load_settings
from kernelwright.load.suite import builtin_suite
from kernelwright.search import Result, optimize_suite


def speedup(evaluation: Evaluation | None, baselines: list[str]) -> float:
    """Against the fastest of ``baselines`` by their medians in the same run; never below 1."""
    if evaluation is None or evaluation.timing is None:
        return 1.0
    fastest = min(baselines, key=evaluation.timing.median_ns)
    return max(1.0, evaluation.timing.speedup(fastest).median)


def text(evaluation: Evaluation, baseline: str) -> str:
    """Median and interval, for example '1.52 [1.49, 1.55]'."""
    ratio = evaluation.timing.speedup(baseline)
    return f"{ratio.median:.2f} [{ratio.low:.2f}, {ratio.high:.2f}]"


def row(result: Result) -> list[str]:
    """One line of the table."""
    if result.error is not None:
        return [result.task.name, "error", "", "", "", "", str(result.error.what)]
    if result.evaluation is None or result.evaluation.timing is None:
        return [
            result.task.name,
            "library stays best",
            "",
            "1.00",
            "1.00",
            "1.00",
            result.strongest,
        ]
    found = result.evaluation
    assert result.best is not None and found.timing is not None
    return [
        result.task.name,
        result.best.candidate.dialect,
        ", ".join(found.kinds),
        text(found, "eager"),
        text(found, "compile"),
        text(found, found.timing.strongest),
        f"{found.timing.strongest}, {found.timing.median_ns(CANDIDATE) / 1e6:.2f} ms",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget", default="60s")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--out", default="kernelwright-out/cpu-suite")
    options = parser.parse_args()
    settings = load_settings(
        Path.cwd(),
        budget_s=options.budget,
        out=options.out,
        archive=f"sqlite:///{options.out}/archive.sqlite",
    )
    entries = [e for e in builtin_suite("cpu") if not options.only or e.name in options.only]
    console = Console(width=160)
    table = Table(
        "task", "winner", "kind", "/ eager", "/ compile", "/ strongest", "strongest, ours"
    )
    results = []
    for result in optimize_suite(entries, settings=settings, on_progress=lambda p: None):
        results.append(result)
        table.add_row(*row(result))
        console.print(" | ".join(row(result)))
    console.print(table)
    found = [r.evaluation for r in results if r.error is None]
    both = geometric_mean([speedup(e, ["eager", "compile"]) for e in found])
    strongest = [
        1.0 if e is None or e.speedup is None else max(1.0, e.speedup.median) for e in found
    ]
    console.print(f"geometric mean over the faster of eager and torch.compile: {both:.3f}")
    console.print(
        f"geometric mean over the strongest library setting: {geometric_mean(strongest):.3f}"
    )


if __name__ == "__main__":
    main()
