"""The runner of a zoo: candidates that must be refused, and unusual but honest ones that must pass.

``cases(path)`` reads a zoo's catalogue; ``run`` judges cases and says which verdicts are wrong. The
zoo of this project is the folder ``zoo`` of its repository and no part of the package. A new cheat
is added there before the judge is mended.
"""

from __future__ import annotations

from kernelwright.testing.zoo.cases import Case, cases
from kernelwright.testing.zoo.outcomes import Outcome, Result
from kernelwright.testing.zoo.run import run
from kernelwright.testing.zoo.table import table

__all__ = ["Case", "Outcome", "Result", "cases", "run", "table"]
