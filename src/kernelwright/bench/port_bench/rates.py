"""Pass rates of a translator on the port benchmark, by domain and by rung."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from kernelwright.bench.port_bench.outcome import ProgramOutcome
from kernelwright.dialects.simt import machine

ALL, HAZARDOUS = "all", "with hazards"


@dataclass(frozen=True)
class Rate:
    """How many programs of a part of the benchmark reached each rung; None if none was checked."""

    part: str
    n: int
    compiled: int | None
    ran_32: int | None
    ran_64: int | None
    on_nvidia: int | None = None


def rates(outcomes: Sequence[ProgramOutcome]) -> list[Rate]:
    """Return the rates per domain, of all programs, and of those with hazards for 64 lanes."""
    parts: dict[str, list[ProgramOutcome]] = defaultdict(list)
    for outcome in outcomes:
        parts[outcome.domain].append(outcome)
    parts = dict(sorted(parts.items()))
    parts[ALL] = list(outcomes)
    parts[HAZARDOUS] = [outcome for outcome in outcomes if outcome.is_hazardous]
    return [_rate(name, part) for name, part in parts.items()]


def _rate(name: str, part: list[ProgramOutcome]) -> Rate:
    tried = [outcome for outcome in part if outcome.compiled]
    on_nvidia = [o.on_nvidia for o in part if o.on_nvidia is not None]
    ran = {width: [o for o in part if width in dict(o.runs)] for width in machine.WIDTHS}
    return Rate(
        part=name,
        n=len(part),
        compiled=sum(o.compiles() for o in tried) if tried else None,
        ran_32=sum(o.runs_at(32) for o in ran[32]) if ran[32] else None,
        ran_64=sum(o.runs_at(64) for o in ran[64]) if ran[64] else None,
        on_nvidia=sum(on_nvidia) if on_nvidia else None,
    )
