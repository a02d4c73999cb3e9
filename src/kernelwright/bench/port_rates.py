"""The bench of programs to port: pass rates of our translator, and of hipify-perl beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.table import Table

from kernelwright.terminal import Answer
from kernelwright.testing import port_bench


def answer(
    *, problems: Sequence[str] = (), targets: Sequence[str] = (), hipify: Path | None = None,
    on_done: Callable[[str], None] = lambda text: None,
) -> Answer:  # fmt: skip
    """Pass rates by domain and by rung; ``hipify`` is the path of hipify-perl.

    ``problems`` are names of programs or of domains; without them the whole bench is run.

    Raises:
        UsageError: no such program, domain, or script.
    """
    translators = {"kernelwright": port_bench.ours}
    if hipify is not None:
        translators["hipify-perl"] = port_bench.hipify_perl(hipify)
    programs = port_bench.chosen(problems)
    targets = targets or port_bench.TARGETS
    told: dict[str, Any] = {}
    shown: list[Any] = []
    for name, translator in translators.items():
        outcomes = []
        for program in programs:
            outcomes.append(port_bench.evaluate(program, translator, targets=targets))
            on_done(f"{name}: {program.name}: {'wrong' if outcomes[-1].faults else 'right'}")
        rates = port_bench.rates(outcomes)
        told[name] = {
            "rates": [asdict(rate) for rate in rates],
            "programs": [asdict(outcome) for outcome in outcomes],
        }
        shown.append(_table(name, rates))
        shown += [f"{o.program}: {fault}" for o in outcomes for fault in o.faults[:2]]
    return Answer({"suite": "port", "targets": list(targets), "translators": told}, 0, shown)


def _table(name: str, rates: Sequence[port_bench.Rate]) -> Table:
    table = Table("domain", "programs", "compile", "run at 32", "run at 64", box=None, title=name)
    for rate in rates:
        counts = (rate.compiled, rate.ran_32, rate.ran_64)
        reached = ("not checked" if count is None else str(count) for count in counts)
        table.add_row(rate.part, str(rate.n), *reached)
    return table
