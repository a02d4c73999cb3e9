"""The kernels that CUDA-L1 released, judged again.

    git clone https://github.com/deepreinforce-ai/CUDA-L1
    python benchmarks/cuda_l1.py CUDA-L1 OUT [--gpu h100] [--device cuda] [--jobs 5]
                                 [--sample N] [--seed 1] [--most SECONDS]

The release has one kernel each for most of KernelBench's 250 problems, with the problem's text as
it was then and the speedup over eager that its authors measured on that GPU. Each is judged as
``kernelwright judge --suite folder`` judges anybody's; what is stopped goes on from the archive in
OUT. ``--sample`` takes so many, drawn by the seed. Module and kernel are put into evaluation mode
when they are made, as CUDA-L1's eval_cuda.py does, and otherwise left as they are. Unlike there, a
kernel is given weights: eval_cuda.py takes those that both make of one seed.

The table has the verdicts by status; the speedups that were claimed and those that are measured
here, of those that passed; what they are by what ran. Everything refused is listed with its reason.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

from rich.console import Console
from rich.table import Table
from suite_verdicts import suite_verdicts

from kernelwright.report.exams import interval
from kernelwright.report.facts import mean_text

EVALUATES = """

def _in_evaluation_mode(make):
    def made(self, *arguments, **named):
        make(self, *arguments, **named)
        self.eval()

    return made


{name}.__init__ = _in_evaluation_mode({name}.__init__)
"""
CLAIMS = {"eager": "score_default", "compile": "score_torch_compile_default"}
"""Our baselines, and CUDA-L1's names of its speedups over the same."""


@dataclass(frozen=True)
class Released:
    """One kernel of the release."""

    name: str
    task: str
    code: str
    claims: dict[str, float]
    """Speedups by baseline."""


def released(checkout: Path, gpu: str) -> list[Released]:
    """Every problem for which there is a kernel."""
    found = []
    for line in Path(checkout, "optimized_cuda_code", f"{gpu}.json").read_text().splitlines():
        row = json.loads(line)
        code = row["custom_code"]
        if code is None or "class ModelNew" not in code:
            continue  # no kernel was found
        code += EVALUATES.format(name="ModelNew")
        claims = {ours: row[theirs] for ours, theirs in CLAIMS.items() if row[theirs]}
        name = f"l{row['level_id']}_{int(row['task_id']):03d}"
        task = row["ref_code"] + EVALUATES.format(name="Model")
        found.append(Released(name, task, code, claims))
    return found


def judged(chosen: list[Released], out: Path, device: str, jobs: int, most_s: float) -> dict:
    """What the command line says about them, by name."""
    tasks, files = out / "tasks", out / "candidates"
    for folder in (tasks, files):
        folder.mkdir(parents=True, exist_ok=True)
    for one in chosen:
        Path(tasks, f"{one.name}.py").write_text(one.task)
        Path(files, f"{one.name}_released.py").write_text(one.code)
    options = ["--suite", "folder", "--path", str(tasks), str(files), "--device", device]
    options += ["--jobs", str(jobs), "--archive", str(out / "archive.sqlite")]
    names = {one.name for one in chosen}  # the folder may have those of another sample too
    found = suite_verdicts(options, most_s=most_s)
    return {name: verdict for name, verdict in found if name in names}


def mean(ratios: list[float]) -> str:
    """Their geometric mean with its 95 % interval, and the median."""
    found = mean_text(interval([[ratio] for ratio in ratios], geometric_mean))
    return f"{found}, median {median(ratios):.2f}" if ratios else found


def tell(chosen: list[Released], found: dict[str, dict[str, Any]], console: Console) -> None:
    statuses = Counter(verdict.get("status", "error") for verdict in found.values())
    console.print(f"{len(found)} of {len(chosen)} judged: {dict(statuses.most_common())}")
    passed = {name: verdict for name, verdict in found.items() if verdict.get("speedup")}
    claims = {one.name: one.claims for one in chosen}
    table = Table("of those that passed", "times as fast: geometric mean (95 %), median", "above 1")
    for base in CLAIMS:
        theirs = [claims[name][base] for name in passed if base in claims[name]]
        ours = [v["speedup"][base]["median"] for v in passed.values() if base in v["speedup"]]
        for who, ratios in (("claimed", theirs), ("measured here", ours)):
            above = sum(ratio > 1 for ratio in ratios)
            table.add_row(f"{who}, over {base}", mean(ratios), f"{above} of {len(ratios)}")
    best = [verdict["speedup"][verdict["strongest"]] for verdict in passed.values()]
    above = sum(ratio["low"] > 1 for ratio in best)
    medians = [ratio["median"] for ratio in best]
    table.add_row("over the strongest setting", mean(medians), f"{above} of {len(best)} surely")
    console.print(table)
    kinds = Counter(", ".join(verdict["kinds"]) for verdict in passed.values())
    console.print(f"by what ran: {dict(kinds.most_common())}")
    for name, verdict in sorted(found.items()):
        if not verdict.get("passed"):
            told = [reason["detail"] for reason in verdict.get("reasons", [])]
            reasons = "; ".join(told) or verdict.get("error")
            claim = claims[name].get("eager")
            console.print(f"{name} (claimed {claim}): {verdict.get('status')}: {reasons}"[:400])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkout", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--gpu", default="h100", help="whose kernels: 3090, a100, h100, h20, l40")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--jobs", type=int, default=5)
    parser.add_argument("--sample", type=int, help="default: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most", type=float, default=86400.0, help="seconds")
    options = parser.parse_args()
    chosen = released(options.checkout, options.gpu)
    if options.sample:
        chosen = random.Random(options.seed).sample(chosen, min(options.sample, len(chosen)))
    found = judged(chosen, options.out, options.device, options.jobs, options.most)
    tell(chosen, found, Console(width=120, highlight=False, markup=False))


if __name__ == "__main__":
    main()
