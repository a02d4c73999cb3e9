"""Conditions: what a machine did beside a measurement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Conditions:
    """Clocks and neighbours while the rounds of one verdict were timed.

    What the machine does not tell is None, or absent from the facts.
    """

    neighbour_share: float | None
    """Of the time of the cores that the judge may use: what other programs took."""
    gpu_neighbour_share: float | None = None
    """Of the GPU's time: what other programs' kernels took."""
    before: Mapping[str, Any] = field(default_factory=dict)
    """Facts when the rounds began, by name with the unit: 'core_mhz' (the slowest and the fastest
    core), 'gpu' (which one, by its own name), 'sm_mhz', 'memory_mhz', 'temperature_c', 'slowed_by',
    'other_processes'."""
    after: Mapping[str, Any] = field(default_factory=dict)
    """The same facts when they ended."""
