"""Candidates judged per hour, beside KernelBench's own evaluator on the same ones in one run.

    python benchmarks/judge_throughput.py --kernelbench PATH [--device cuda] [--jobs 6]
                                          [--only TASK ...] [--copies N] [--most SECONDS]
                                          [--again] [--out FILE.json]

The candidates are the right and the wrong one of every built-in task, at the size for the device,
as far as it runs what they are written in: 48 in all on a CPU; with ``--copies`` each comes several
times, told apart by a comment, as a search or a training run brings many for one task. Ours are
judged by ``kernelwright judge --suite builtin DIR --jobs N`` as a user would, from the start: an
empty archive, an empty compiler cache, every baseline compiled and measured; with ``--again`` once
more with that cache as it is then, as all but the first run on a machine find it. KernelBench's are
judged by ``eval_kernel_against_ref`` from a checkout of its public repository, unchanged, as its
scripts/eval_from_generations.py does: five correctness trials, a hundred timed ones of the
candidate and of the reference, a fresh process per candidate, one at a time, in random order. It
needs a GPU and the packages tqdm and pydantic.
Nothing else should run meanwhile. Whoever is not done after ``--most`` seconds is
stopped; what has a verdict by then counts, over the time until then.

Not covered:
    KernelBench measures one baseline, eager; ours four. It checks one distribution of inputs.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import multiprocessing
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from suite_controls import CONTROLS, control
from suite_verdicts import suite_verdicts

from kernelwright.core.device import Device
from kernelwright.dialects.recognised import dialect_of
from kernelwright.dialects.usable import usable_dialects
from kernelwright.suites.suite import SuiteEntry, builtin_suite

N_CORRECT_TRIALS = 5  # KernelBench, scripts/eval_from_generations.py: num_correct_trials
N_PERF_TRIALS = 100  # likewise: num_perf_trials
LIMIT_S = 180.0  # likewise: timeout
OURS, AGAIN, THEIRS = "ours", "ours again", "KernelBench"
NEEDED = ("tqdm", "pydantic")  # of KernelBench; for other packages of its, see open_kernelbench
Chosen = dict[str, tuple[SuiteEntry, str]]
"""Candidates' texts by name, with the task that each is for."""


@dataclass(frozen=True)
class Found:
    """What one evaluator made of the candidates."""

    wall_s: float
    passed: dict[str, bool | None]
    """By candidate; None where the evaluator came to no verdict."""
    inside_s: dict[str, float]
    """The sums of what single verdicts took, by part, without starting judges and baselines. Ours
    hold the waiting for a turn at the device, KernelBench's no start of its process."""

    @property
    def n_judged(self) -> int:
        return sum(verdict is not None for verdict in self.passed.values())

    @property
    def per_hour(self) -> float:
        return 3600 * self.n_judged / self.wall_s


def candidates(only: list[str], device: str, copies: int) -> Chosen:
    """The candidates' texts by name: 'softmax_1_right' and so on."""
    entries = [e for e in builtin_suite(device) if not only or e.name in only]
    usable = usable_dialects((), Device.parse(device))
    texts = {(e, which): control(e.name, which).read_text() for e in entries for which in CONTROLS}
    return {
        f"{e.name}_{number}_{which}": (e, f"{text}# {number}\n")
        for (e, which), text in texts.items()
        if dialect_of(text) in usable
        for number in range(copies)
    }


def ours(
    chosen: dict[str, tuple[SuiteEntry, str]],
    folder: Path,
    *,
    cache: Path,
    device: str,
    jobs: int,
    most_s: float,
) -> Found:
    """The command line's verdicts on a folder of the candidates."""
    files = folder / "candidates"
    files.mkdir(parents=True)
    for name, (_, text) in chosen.items():
        Path(files, f"{name}.py").write_text(text)
    options = ["--suite", "builtin", str(files), "--device", device, "--jobs", str(jobs)]
    options += ["--archive", str(folder / "a.sqlite")]
    start_s = time.monotonic()
    found = suite_verdicts(options, most_s=most_s, environment={"XDG_CACHE_HOME": str(cache)})
    wall_s = time.monotonic() - start_s
    verdicts = [verdict for _, verdict in found]
    parts = Counter[str]()
    for verdict in verdicts:
        parts.update(verdict.get("cost", {}))
    for verdict in verdicts:
        if _passed(verdict) is None:
            print(f"ours: {verdict['file']}: {verdict.get('reasons')}", file=sys.stderr)
    return Found(wall_s, {Path(v["file"]).stem: _passed(v) for v in verdicts}, dict(parts))


def _passed(verdict: dict[str, Any]) -> bool | None:
    if verdict.get("status") in (None, "infra_error"):
        return None
    return verdict["passed"]


def kernelbench(chosen: Chosen, checkout: Path, *, most_s: float) -> Found:
    """KernelBench's verdicts, each in a fresh process, in a random order until time is up."""
    context = multiprocessing.get_context("spawn")
    passed: dict[str, bool | None] = {}
    inside_s = 0.0
    start_s = time.monotonic()
    for name in random.Random(0).sample(list(chosen), len(chosen)):
        entry, text = chosen[name]
        if time.monotonic() - start_s > most_s:
            break
        with context.Pool(1) as pool:
            asked = pool.apply_async(evaluate_as_kernelbench, (checkout, entry.task.source, text))
            try:
                left_s = start_s + most_s - time.monotonic()
                passed[name], spent_s = asked.get(timeout=min(LIMIT_S, left_s))
                inside_s += spent_s
            except multiprocessing.TimeoutError:
                passed[name] = None
            except Exception as error:  # it raises where a task's inputs are not floats
                passed[name] = None
                print(f"KernelBench: {name}: {error!r}", file=sys.stderr)
        print(f"KernelBench: {name}: {passed[name]}", file=sys.stderr, flush=True)
    return Found(time.monotonic() - start_s, passed, {"all": inside_s})


def evaluate_as_kernelbench(checkout: Path, task: str, candidate: str) -> tuple[bool | None, float]:
    """Whether KernelBench takes the candidate for right, and the seconds inside its evaluator."""
    from faults_oracle import open_kernelbench

    evaluate: Callable[..., Any] = open_kernelbench(checkout).eval_kernel_against_ref
    start_s = time.monotonic()
    found = evaluate(
        original_model_src=task,
        custom_model_src=candidate,
        measure_performance=True,
        num_correct_trials=N_CORRECT_TRIALS,
        num_perf_trials=N_PERF_TRIALS,
        device=0,
    )
    spent_s = time.monotonic() - start_s
    return (None if found is None else bool(found.correctness)), spent_s


def tell(found: dict[str, Found], n_given: int, console: Console) -> None:
    table = Table(
        "evaluator", "candidates", "wall s", "per hour", "in verdicts s", "right", "wrong"
    )
    for name, one in found.items():
        wrong_passed = sum(p is True for c, p in one.passed.items() if c.endswith("_wrong"))
        right_passed = sum(p is True for c, p in one.passed.items() if c.endswith("_right"))
        table.add_row(
            name, f"{one.n_judged} of {n_given}", f"{one.wall_s:.0f}", f"{one.per_hour:.0f}",
            ", ".join(f"{part} {spent_s:.0f}" for part, spent_s in one.inside_s.items()),
            f"{right_passed} passed", f"{wrong_passed} passed",
        )  # fmt: skip
    console.print(table)
    theirs = found.get(THEIRS)
    if theirs is None:
        return
    for name, one in found.items():
        if one is not theirs and theirs.n_judged:
            times = one.per_hour / theirs.per_hour
            console.print(f"{name}: {times:.2f} times KernelBench's rate")
    for name, verdict in found[OURS].passed.items():
        if name in theirs.passed and verdict != theirs.passed[name]:
            console.print(f"{name}: ours {verdict}, KernelBench's {theirs.passed.get(name)}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kernelbench", type=Path, help="a checkout; left out: only ours")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) // 3))
    parser.add_argument("--only", nargs="*", default=[], metavar="TASK")
    parser.add_argument("--copies", type=int, default=1, help="of every candidate")
    parser.add_argument("--again", action="store_true", help="ours once more, caches kept")
    parser.add_argument("--out", type=Path)
    parser.add_argument(
        "--most", type=float, default=3600.0, help="seconds for each side: the rate is of so far"
    )
    options = parser.parse_args()
    if options.kernelbench and not (options.kernelbench / "src/kernelbench/eval.py").is_file():
        parser.error(
            f"{options.kernelbench} is no KernelBench checkout: no src/kernelbench/eval.py"
        )
    if options.kernelbench and not options.device.startswith("cuda"):
        parser.error("KernelBench's evaluator runs on GPUs only: leave --kernelbench out")
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if options.kernelbench and missing:
        parser.error(f"KernelBench's evaluator needs {' and '.join(missing)}: pip install them")
    chosen = candidates(options.only, options.device, options.copies)
    if not chosen:
        parser.error(f"no built-in task is called {' or '.join(options.only)}")
    with tempfile.TemporaryDirectory() as folder:
        how = {"device": options.device, "jobs": options.jobs, "most_s": options.most}
        how["cache"] = Path(folder, "cache")
        names = [OURS, AGAIN] if options.again else [OURS]
        found = {name: ours(chosen, Path(folder, name), **how) for name in names}
    console = Console(width=120)
    if options.kernelbench:
        tell(found, len(chosen), console)  # the other side may take long
        found[THEIRS] = kernelbench(chosen, options.kernelbench.resolve(), most_s=options.most)
    tell(found, len(chosen), console)
    if options.out:
        facts = {n: {**vars(f), "per_hour": f.per_hour} for n, f in found.items()}
        how = {"jobs": options.jobs, "copies": options.copies, "given": len(chosen)}
        options.out.write_text(json.dumps({**how, **facts}, indent=1))


if __name__ == "__main__":
    main()
