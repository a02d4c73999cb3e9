"""What the checks of one candidate have found so far."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kernelwright.core.evaluation import Numerics
from kernelwright.judge.compare.outputs import Agreement, Expected


@dataclass
class Tally:
    """Its worst comparison, where it was compared, and what is to be said of it."""

    worst: Agreement = field(default_factory=Agreement)
    reference_error: float = 0.0
    distributions: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def numerics(self) -> Numerics:
        return Numerics(
            max_error=self.worst.error,
            reference_error=self.reference_error,
            allowed_error=self.worst.allowed,
            distributions=tuple(dict.fromkeys(self.distributions)),
        )

    def add(self, distribution: str, found: Agreement, expected: Expected, place: str) -> None:
        """Note one comparison; the one that uses most of its allowance is kept. What was seen of
        the outputs is said of the ``place`` where it was seen first."""
        self.warn(expected.warnings)
        for seen in found.warnings:
            if not any(known.endswith(seen) for known in self.warnings):
                self.warn([": ".join(filter(None, (place, seen)))])
        self.distributions.append(distribution)
        if found.share >= self.worst.share:
            self.worst, self.reference_error = found, expected.reference_error

    def warn(self, warnings: Any) -> None:
        self.warnings += [w for w in warnings if w not in self.warnings]
