"""How a judgement ends early, inside the judge: with a status and a reason."""

from __future__ import annotations

import math

from kernelwright.core.evaluation import Status


class Refused(Exception):
    """The candidate did not pass. It never leaves ``Judge.evaluate``."""

    def __init__(self, status: Status, reason: str) -> None:
        self.status = status
        self.reason = reason
        super().__init__(reason)


class WrongValues(Exception):
    """Outputs that are not the reference's, and where. ``is_little``: in few numbers only;
    ``error``: the largest, where any is known."""

    def __init__(self, reason: str, *, is_little: bool = False, error: float = math.inf) -> None:
        self.is_little, self.error = is_little, error
        super().__init__(reason)


FAILURES = (
    RuntimeError,
    ValueError,
    LookupError,
    TypeError,
    ArithmeticError,
    AssertionError,
    AttributeError,
)
"""What a task's own code may raise on inputs that it was not made for; want of memory on a CPU
(MemoryError) and what the judge says of a task are none of them."""
