"""Draws: which inputs and weights a call gets. Nobody can guess them without the judge's secret."""

from __future__ import annotations

from dataclasses import dataclass

from kernelwright.judge.checks.check import Check
from kernelwright.judge.profile import Shapes


@dataclass(frozen=True)
class Draw:
    """One set of inputs: the check that it is for, and its seed."""

    check: Check
    seed: int
    turn: int = 0
    """The number of the call among those of its check; a part of the seed."""
    shapes: Shapes | None = None
    """The task's other set of inputs that it is drawn from, if it is."""

    @property
    def weights(self) -> str:
        return self.check.weights

    @property
    def name(self) -> str:
        """The name of its inputs in verdicts."""
        return self.shapes.name if self.shapes else self.check.id

    @property
    def place(self) -> str:
        """Where something was found, for a reason."""
        return f"on {self.shapes.name} inputs" if self.shapes else self.check.where()
