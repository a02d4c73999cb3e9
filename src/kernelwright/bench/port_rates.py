"""The port benchmark: pass rates of our translator, and of hipify-perl for comparison."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from rich.table import Table

from kernelwright.bench import port_bench
from kernelwright.console.terminal import Answer
from kernelwright.dialects.nvidia import gpu_missing
from kernelwright.port import RungStatus
from kernelwright.port.hardware import HardwareRun, runs_on_nvidia
from kernelwright.port.ladder import DeviceUnit


def answer(
    *,
    problems: Sequence[str] = (),
    targets: Sequence[str] = (),
    hipify: Path | None = None,
    jobs: int = 1,
    on_done: Callable[[str], None] = lambda text: None,
) -> Answer:
    """Return pass rates by domain and by rung; ``hipify`` is the path of hipify-perl.

    ``problems`` are names of programs or of domains; by default the whole benchmark is run. It runs
    ``jobs`` programs at a time. With nvcc and an NVIDIA GPU, rung 3 is tried as well.

    Raises:
        UsageError: there is no such program, domain or script.
    """
    translators = {"kernelwright": port_bench.ours}
    if hipify is not None:
        translators["hipify-perl"] = port_bench.hipify_perl(hipify)
    programs = port_bench.chosen(problems)
    targets = targets or port_bench.TARGETS
    found: dict[str, Any] = {}
    shown: list[Any] = []
    for name, translator in translators.items():

        def tried(
            program: port_bench.BenchProgram, name: str = name, translator: Any = translator
        ) -> port_bench.ProgramOutcome:
            outcome = port_bench.evaluate(program, translator, targets=targets)
            if gpu_missing() is None:
                outcome = _on_nvidia(outcome, program, translator(program))
            on_done(f"{name}: {program.name}: {'wrong' if outcome.faults else 'right'}")
            return outcome

        with ThreadPoolExecutor(jobs) as pool:
            outcomes = list(pool.map(tried, programs))
        rates = port_bench.rates(outcomes)
        found[name] = {
            "rates": [asdict(rate) for rate in rates],
            "programs": [asdict(outcome) for outcome in outcomes],
        }
        shown.append(_table(name, rates))
        shown += [f"{o.program}: {fault}" for o in outcomes for fault in o.faults[:2]]
    return Answer({"suite": "port", "targets": list(targets), "translators": found}, 0, shown)


def _on_nvidia(
    outcome: port_bench.ProgramOutcome, program: port_bench.BenchProgram, text: str
) -> port_bench.ProgramOutcome:
    with tempfile.TemporaryDirectory() as folder:
        original, ported = Path(folder, "original.cu"), Path(folder, "port.hip")
        original.write_text(program.source)
        ported.write_text(text)
        rung = runs_on_nvidia(HardwareRun((DeviceUnit(original),), (DeviceUnit(ported),)))
    if rung.status is RungStatus.NOT_CHECKED:
        return outcome
    faults = tuple(f"NVIDIA GPU: {detail}" for detail in rung.details)
    passed = rung.status is RungStatus.PASSED
    return replace(outcome, on_nvidia=passed, faults=outcome.faults + faults)


def _table(name: str, rates: Sequence[port_bench.Rate]) -> Table:
    columns = ("domain", "programs", "compile", "run at 32", "run at 64", "on NVIDIA")
    table = Table(*columns, box=None, title=name)
    for rate in rates:
        counts = (rate.compiled, rate.ran_32, rate.ran_64, rate.on_nvidia)
        reached = ("not checked" if count is None else str(count) for count in counts)
        table.add_row(rate.part, str(rate.n), *reached)
    return table
