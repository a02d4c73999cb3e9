"""The cheat zoo: candidates that must be refused, and odd but honest ones that must pass.

``cheats/`` and ``honest/`` hold one candidate per file, whose docstring says what it does and
what the judge owes it (``cases``); ``tasks/`` holds the small tasks that they are for. ``run``
judges them all and says which verdicts are wrong. A new cheat is added here before the judge is
repaired.
"""

from __future__ import annotations

from kernelwright.testing.zoo.cases import Case, cases
from kernelwright.testing.zoo.outcomes import Outcome, Result
from kernelwright.testing.zoo.run import run
from kernelwright.testing.zoo.table import table

__all__ = ["Case", "Outcome", "Result", "cases", "run", "table"]
