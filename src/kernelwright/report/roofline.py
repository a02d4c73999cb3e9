"""Where the candidates and the library stand below the rate at which the device copies memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Rate:
    """How fast one version moves what the task has to read and write."""

    name: str
    bytes_per_s: float
    share: float
    """Of the rate at which the device copies; above 1 where data come from caches."""


@dataclass(frozen=True)
class Roofline:
    """The memory rate of a task's versions. A version that reads every input and writes every
    output once, from and to memory, is hardly faster than a copy of as many bytes."""

    moved_bytes: float
    copied_bytes_per_s: float
    flops: float
    """Floating-point operations of the reference; 0 where they are not known."""
    rates: tuple[Rate, ...]
    """The slowest first."""

    @property
    def flops_per_byte(self) -> float:
        """Operations of the reference for each byte that the task moves."""
        return self.flops / self.moved_bytes


def roofline(ended: Mapping[str, Any], times_ns: Sequence[tuple[str, float]]) -> Roofline | None:
    """From what a search found out about the task, and names with times; None if it did not."""
    moved, copied = ended.get("moved_bytes"), ended.get("copied_bytes_per_s")
    if not moved or not copied or not times_ns:
        return None
    rates = [(name, 1e9 * moved / time_ns) for name, time_ns in times_ns if time_ns > 0]
    ordered = sorted(rates, key=lambda rate: rate[1])
    told = tuple(Rate(name, per_s, per_s / copied) for name, per_s in ordered)
    return Roofline(moved, copied, ended.get("flops", 0.0), told)
