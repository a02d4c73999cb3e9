"""The findings of the checks of one candidate so far."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from kernelwright.core.evaluation import Numerics
from kernelwright.core.outcome import Warned
from kernelwright.judge.checks import Check
from kernelwright.judge.compare.expected import Expected
from kernelwright.judge.compare.outputs import Agreement


@dataclass
class Tally:
    """The worst comparison, where outputs were compared, and the warnings."""

    worst: Agreement = field(default_factory=Agreement)
    reference_error: float = 0.0
    names: list[str] = field(default_factory=list)
    """The names of the inputs on which outputs were compared."""
    warnings: list[Warned] = field(default_factory=list)
    warned: set[Check] = field(default_factory=set)
    """Checks on which the candidate differs, with a warning."""
    _seen: set[Warned] = field(default_factory=set)

    def numerics(self) -> Numerics:
        return Numerics(
            max_error=self.worst.error,
            reference_error=self.reference_error,
            allowed_error=self.worst.allowed,
            distributions=tuple(dict.fromkeys(self.names)),
        )

    def add(self, name: str, found: Agreement, expected: Expected, place: str) -> None:
        """Note one comparison; the one that uses most of its allowance is kept.

        A warning about the outputs is given once, with the ``place`` where it was seen first.
        """
        self.warn(expected.warnings)
        for seen in found.warnings:
            if seen not in self._seen:
                self._seen.add(seen)
                self.warn([Warned(seen.code, ": ".join(filter(None, (place, seen.detail))))])
        self.names.append(name)
        if found.share >= self.worst.share:
            self.worst, self.reference_error = found, expected.reference_error

    def warn(self, warnings: Iterable[Warned]) -> None:
        self.warnings += [w for w in warnings if w not in self.warnings]
