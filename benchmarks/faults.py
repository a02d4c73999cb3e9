"""Faults injected into right kernels: the share that our judge catches, beside KernelBench's check.

    python benchmarks/faults.py --kernelbench PATH [--per-task 16] [--seed 0] [--only TASK ...]

PATH is a checkout of https://github.com/ScalingIntelligence/KernelBench (it needs ``requests`` and
``pydantic``). For every built-in task, at its small size, the right candidate is mutated in all the
ways of ``faults_operators``; a seeded draw takes mutants one operator after another until
``--per-task`` of them are faults by the rule of ``faults_oracle``; each fault is then given to
KernelBench's correctness check and to our judge's checks (nothing is timed). Tasks whose right
candidate KernelBench itself refuses are left out of its share and named.

``--out FILE`` keeps one JSON line per fault.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from faults_operators import Mutant, mutants
from faults_oracle import open_kernelbench, study
from rich.console import Console
from rich.table import Table
from suite_controls import control

from kernelwright.core.candidate import Candidate
from kernelwright.core.device import Device
from kernelwright.core.settings import Settings
from kernelwright.dialects.devices import resolve
from kernelwright.judge import Judge
from kernelwright.suites.suite import SuiteEntry, builtin_suite

LOG = Console(stderr=True)


def inject(entry: SuiteEntry, kernelbench: Any, *, per_task: int, seed: int) -> list[dict]:
    """Faults of one task, spread over the operators, each with KernelBench's answer."""
    right = control(entry.name, "right").read_text()
    base = study(entry.task, right, right, kernelbench)
    is_usable = not base.get("caught_by_kernelbench", True)
    by_operator: dict[str, list[Mutant]] = defaultdict(list)
    for mutant in mutants(entry.name, right):
        by_operator[mutant.operator].append(mutant)
    draw = random.Random(f"{seed} {entry.name}")
    for group in by_operator.values():
        draw.shuffle(group)
    faults: list[dict] = []
    tried: Counter[str] = Counter()
    while len(faults) < per_task and any(by_operator.values()):
        for operator in draw.sample(sorted(by_operator), len(by_operator)):
            if not by_operator[operator] or len(faults) == per_task:
                continue
            mutant = by_operator[operator].pop()
            found = study(entry.task, right, mutant.source, kernelbench)
            tried["faults" if found["is_fault"] else found["why"].partition(":")[0]] += 1
            if found["is_fault"]:
                faults.append({"task": entry.name, "operator": operator, "kind": mutant.kind,
                               "kernelbench_usable": is_usable, **found,
                               "source": mutant.source})  # fmt: skip
    LOG.print(f"{entry.name}: {len(faults)} faults; tried {dict(tried)}")
    return faults


def judge(entry: SuiteEntry, faults: list[dict], device: str) -> None:
    """Give every fault, and the right candidate, to the judge's checks."""
    sources = [control(entry.name, "right").read_text(), *(fault["source"] for fault in faults)]
    settings = Settings(device=device, threads=1)
    with Judge(entry.task, device=resolve(Device.parse(device)), settings=settings) as judge:
        start_s = time.monotonic()
        found = list(judge.evaluate_all((Candidate(s, "torch") for s in sources), timed=False))
        seconds = (time.monotonic() - start_s) / len(found)
    honest, *verdicts = found
    if not honest.passed:
        LOG.print(f"[bold red]{entry.name}: the right candidate is refused: {honest.why}")
    for fault, evaluation in zip(faults, verdicts, strict=True):
        fault["status"] = str(evaluation.status)
        fault["reason"] = evaluation.why[:300]
        fault["caught"] = not evaluation.passed
        fault["seconds"] = round(seconds, 2)


def share(faults: list[dict], key: str) -> str:
    """'98.2 % (112 of 114)'."""
    caught = sum(bool(fault[key]) for fault in faults)
    return f"{100 * caught / len(faults):.1f} % ({caught} of {len(faults)})" if faults else ""


def table(faults: list[dict]) -> Table:
    """One row per kind of fault, and the sum."""
    made = Table("kind", "our judge", "KernelBench's check", title="share of faults caught")
    kinds = sorted({fault["kind"] for fault in faults})
    for kind in (*kinds, None):
        group = [fault for fault in faults if kind in (None, fault["kind"])]
        usable = [fault for fault in group if fault["kernelbench_usable"]]
        made.add_row(kind or "all", share(group, "caught"), share(usable, "caught_by_kernelbench"))
    return made


def main() -> None:
    """Inject, judge, print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kernelbench", type=Path, required=True)
    parser.add_argument("--per-task", type=int, default=16)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--device", default="cpu", help="of our judge; KernelBench's is the CPU")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    kernelbench = open_kernelbench(arguments.kernelbench)
    entries = [e for e in builtin_suite(size="small") if arguments.only in (None, [])
               or e.name in arguments.only]  # fmt: skip
    how = {"per_task": arguments.per_task, "seed": arguments.seed}
    # All forks come first: torch's threads, which the judge starts here, do not survive a fork.
    with tempfile.TemporaryDirectory() as built:
        os.environ["TORCH_EXTENSIONS_DIR"] = built
        injected = {entry.name: inject(entry, kernelbench, **how) for entry in entries}
    for entry in entries:
        judge(entry, injected[entry.name], arguments.device)
    faults = [fault for group in injected.values() for fault in group]
    if arguments.out:
        arguments.out.write_text("".join(json.dumps(fault) + "\n" for fault in faults))
    left_out = sorted({f["task"] for f in faults if not f["kernelbench_usable"]})
    result = Console()
    result.print(table(faults))
    result.print(f"{len(faults)} faults in {len(injected)} tasks, seed {arguments.seed}")
    result.print(f"KernelBench refuses the right candidate of: {', '.join(left_out) or 'none'}")
    for fault in faults:
        if not fault["caught"]:
            result.print(f"missed: {fault['task']}, {fault['operator']}, on {fault['on']}, "
                         f"{fault['error']:.2g} times the limit")  # fmt: skip
    times = [fault["seconds"] for fault in faults]
    result.print(f"judge: {sum(times) / len(times):.2f} s per fault")


if __name__ == "__main__":
    main()
