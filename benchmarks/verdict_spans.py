"""Where the seconds of a verdict go: each part of the judge's work, for the first and later ones.

    python benchmarks/verdict_spans.py [--device cuda] [--dialect triton] [--warm] [--again]
                                       [--verdicts N] [--untimed] [--search SECONDS] [TASK ...]

Judges the rules' first candidate of each built-in task N times, as a search would, and prints when
each part of the set-up began and ended, and then what the parts of a verdict took. ``--warm`` forks
from a server that has imported torch's compilers, as a suite does; ``--again`` opens a second judge
of the same task in a new process, which finds what the first has kept; with ``--untimed`` no
library setting starts. ``--search`` searches each task with this budget instead, and prints when
each part of the search began and ended.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from suite_controls import control

from kernelwright.core.candidate import Brief, Candidate
from kernelwright.core.device import Device
from kernelwright.core.evaluation import Evaluation
from kernelwright.core.settings import Settings
from kernelwright.dialects.devices import resolve
from kernelwright.dialects.recognised import dialect_of
from kernelwright.judge import Judge, SharedForkServer, SharedForkServerProcess
from kernelwright.judge.baselines.runs import BaselineRuns
from kernelwright.judge.baselines.starting import SettingStarter
from kernelwright.judge.pipeline import Pipeline
from kernelwright.judge.reference.expectations import Expectations
from kernelwright.judge.reference.oracle import Oracle
from kernelwright.judge.reference.task_inputs import TaskInputs
from kernelwright.judge.round_checks import RoundChecks
from kernelwright.judge.sandbox.fork_server import ForkServer
from kernelwright.judge.sandbox.runner import Runner
from kernelwright.judge.sandbox.runner_factory import RunnerFactory
from kernelwright.judge.submission import SubmissionBuilder
from kernelwright.judge.timing.rounds import _Rounds
from kernelwright.judge.verify.run_checks import CheckPlan
from kernelwright.judge.verify.verification import Verification
from kernelwright.proposers.rules import RulesProposer
from kernelwright.search import loop
from kernelwright.suites.suite import SuiteEntry, builtin_suite
from kernelwright.tuner.process import TunerProcess

PARTS: dict[str, tuple[type, str]] = {
    "open: reference studied": (Oracle, "__init__"),
    "fork server ready": (ForkServer, "wait_ready"),
    "child forked": (RunnerFactory, "make"),
    "child uses the device": (Runner, "_map"),
    "child builds": (Runner, "build"),
    "a setting starts": (SettingStarter, "_start_one"),
    "a setting warms up": (SettingStarter, "warm_up"),
    "the empty module starts": (SettingStarter, "start_empty"),
    "settings ranked": (BaselineRuns, "_rank"),
    "baselines measured": (BaselineRuns, "measure"),
    "candidate built": (SubmissionBuilder, "_build"),
    "checks": (CheckPlan, "run"),
    "expected results": (Expectations, "of"),
    "inputs drawn": (TaskInputs, "of"),
    "calls": (Runner, "call"),
    "inputs written": (Runner, "put"),
    "results compared": (Verification, "_compare"),
    "calls repeated": (Verification, "repeat"),
    "timed": (Pipeline, "_time_once"),
    "rounds warmed up": (_Rounds, "warm_up"),
    "one round": (_Rounds, "one"),
    "checks after the rounds": (RoundChecks, "end"),
    "kind found": (Pipeline, "_classify"),
    "tuner's program": (TunerProcess, "__enter__"),
    "tuner's worker": (TunerProcess, "start"),
    "tuner builds": (TunerProcess, "build"),
    "tuner loads or races": (TunerProcess, "ask"),
    "judge opens": (Judge, "__enter__"),
    "nothing to win?": (Judge, "nothing_to_win"),
    "finalists ranked": (Judge, "_rank"),
    "verdict": (Judge, "_conclude"),
}
WARM_S = 8.0
"""The time that a shared fork server gets to import everything."""
SET_UP = (
    *("open", "fork", "child", "a setting", "the empty", "settings", "baselines", "candidate"),
    *("tuner", "judge", "nothing", "finalists", "verdict", "checks", "timed", "kind"),
)


class Spans:
    """The times at which parts began and ended."""

    def __init__(self) -> None:
        self.start_s = time.monotonic()
        self.found: list[tuple[str, str, float, float]] = []
        """Name, thread, begin and end in seconds."""

    def watch(self, name: str, owner: type, method: str) -> None:
        """Note every call of a method."""
        usual: Callable[..., Any] = getattr(owner, method)

        def noted(*arguments: Any, **named: Any) -> Any:
            start_s = time.monotonic()
            try:
                return usual(*arguments, **named)
            finally:
                times = (start_s - self.start_s, time.monotonic() - self.start_s)
                self.found.append((name, threading.current_thread().name, *times))

        setattr(owner, method, noted)

    def totals(self, since: int) -> dict[str, tuple[float, int]]:
        """Seconds and number of calls of each part from the span of this number on."""
        sums: dict[str, tuple[float, int]] = defaultdict(lambda: (0.0, 0))
        for name, _, start_s, end_s in self.found[since:]:
            seconds, n = sums[name]
            sums[name] = seconds + end_s - start_s, n + 1
        return sums

    def show(self) -> None:
        """Print when the parts of the set-up began and ended."""
        for name, thread, begin_s, end_s in sorted(self.found, key=lambda one: one[2]):
            if name.startswith(SET_UP) and end_s - begin_s > 0.05:
                print(f"  {begin_s:6.2f} to {end_s:6.2f}  {name} ({thread})")


def search(
    entry: SuiteEntry,
    options: argparse.Namespace,
    server: SharedForkServer | None,
    spans: Spans,
) -> None:
    """Search one task, and print the spans."""
    with tempfile.TemporaryDirectory() as out:
        settings = Settings(
            device=options.device,
            dialects=(options.dialect,) if options.dialect else (),
            budget_s=options.search,
            out=out,
            archive=f"{out}/archive.sqlite",
        )
        found = loop.optimize(entry.task, settings=settings, fork_server=server, stops_early=True)
    took_s = time.monotonic() - spans.start_s
    best = found.evaluation.speedup if found.evaluation else None
    print(f"{entry.name}: searched in {took_s:.2f} s, {len(found.evaluated)} verdicts, best {best}")
    spans.show()
    for name, (total, n) in spans.totals(0).items():
        print(f"  {name}: {total:.2f} s in {n}")


def candidates(entry: SuiteEntry, device: Device, dialect: str, n: int) -> list[Candidate]:
    """The same kernel, told apart by a comment: the rules' first one in a dialect, or the suite's
    right one."""
    text = control(entry.name, "right").read_text()
    found = Candidate(text, dialect_of(text))
    if dialect:
        brief = Brief(entry.task, device, (dialect,), budget_s=60.0)
        proposals = RulesProposer().propose(brief)
        found = next(p.candidate for p in proposals if p.candidate.dialect == dialect)
    return [
        Candidate(f"{found.source}\n# {number}\n", found.dialect, found.entry)
        for number in range(n)
    ]


def measure(entry: SuiteEntry, options: argparse.Namespace) -> None:
    """Judge one task's candidates, and print the spans."""
    device = resolve(Device.parse(options.device))
    some = candidates(entry, device, options.dialect, options.verdicts)
    with ExitStack() as stack:
        server = stack.enter_context(SharedForkServerProcess()) if options.warm else None
        if server is not None:
            time.sleep(WARM_S)
        spans = Spans()
        for name, (owner, method) in PARTS.items():
            spans.watch(name, owner, method)
        if options.search:
            search(entry, options, server, spans)
            return
        settings = Settings(device=options.device)
        judge = stack.enter_context(
            Judge(entry.task, device=device, settings=settings, fork_server=server)
        )
        print(f"{entry.name}: opened after {time.monotonic() - spans.start_s:.2f} s")
        verdicts: list[tuple[float, Evaluation]] = []
        for number, candidate in enumerate(some):
            n_before, start_s = len(spans.found), time.monotonic()
            found = judge.evaluate(candidate, timed=not options.untimed)
            verdicts.append((time.monotonic() - start_s, found))
            if number == 0:
                print(f"first verdict after {time.monotonic() - spans.start_s:.2f} s")
                spans.show()
            show(number, verdicts[-1], spans.totals(n_before if number else 0))
        later = [seconds for seconds, _ in verdicts[1:]]
        if later:
            print(f"{entry.name}: later verdicts {statistics.median(later):.2f} s (median)")


def show(number: int, timed: tuple[float, Evaluation], totals: dict[str, Any]) -> None:
    """Print one verdict's parts."""
    seconds, found = timed
    cost, n_rounds, calls_s = found.cost, 0, 0.0
    if found.timing is not None:
        samples = found.timing.samples_ns.values()
        calls_s = sum(ns for one in samples for ns in one if ns is not None) * 1e-9
        n_rounds = len(next(iter(samples)))
    used_s = time.process_time()
    print(
        f"verdict {number}: {seconds:.2f} s, {used_s:.2f} s of processor so far, "
        f"{found.status} {found.why[:80]}: build "
        f"{cost.build_s:.2f}, checks {cost.check_s:.2f}, timing {cost.time_s:.2f}, timed calls "
        f"{calls_s:.3f} in {n_rounds} rounds"
    )
    parts = [f"{name} {total:.2f} ({n})" for name, (total, n) in totals.items() if total > 0.02]
    print("  " + "; ".join(parts))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tasks", nargs="*", default=["rms_norm"])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dialect", default="")
    parser.add_argument("--verdicts", type=int, default=4)
    parser.add_argument("--search", type=float, default=0.0)
    parser.add_argument("--untimed", action="store_true")
    parser.add_argument("--warm", action="store_true")
    parser.add_argument("--again", action="store_true")
    options = parser.parse_args()
    entries = {entry.name: entry for entry in builtin_suite(Device.parse(options.device).kind)}
    context = multiprocessing.get_context("spawn")
    for name in options.tasks:
        for _ in range(1 + options.again):
            process = context.Process(target=measure, args=(entries[name], options))
            process.start()
            process.join()


if __name__ == "__main__":
    main()
