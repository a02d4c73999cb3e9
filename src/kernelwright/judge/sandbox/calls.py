"""Calls of a module, and windows of them, as the judge saw them."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from kernelwright.judge.sandbox.outputs import Claim


@dataclass(frozen=True)
class Call:
    """One call as the judge saw it."""

    elapsed_ns: int
    claims: list[Claim]
    """The places of its outputs, as the child says."""
    outputs: list[torch.Tensor] | None
    """The outputs themselves, where they were asked for."""
    after_ns: tuple[int, ...] = ()
    """Times after the clock had stopped: until the device came to rest, and until the outputs were
    copied; empty where the judge reads them itself."""


@dataclass(frozen=True)
class Window:
    """Many calls in one stretch of time, as the judge saw them."""

    elapsed_ns: int
    """The time of all of them together."""
    n_calls: int
    calls: dict[int, Call]
    """The calls whose outputs were taken, by their place in the ring; the last call comes last."""
    claims: list[list[Claim]]
    """The places of every call's outputs."""
    after_ns: tuple[int, ...] = ()
    """As for ``Call``."""
    was_queued: bool = False
    """All calls were queued on the device before their inputs existed: the time is the device's."""
    written: dict[int, list[bool]] = field(default_factory=dict)
    """Which of their arguments the calls have written to whose outputs were taken, by place."""

    @property
    def call_ns(self) -> float:
        """The time of a call."""
        return self.elapsed_ns / self.n_calls

    @property
    def last(self) -> Call:
        """The last call of those whose outputs were taken."""
        return next(reversed(self.calls.values()))
