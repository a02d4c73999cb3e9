"""The early end of a judgement, inside the judge, with a code and what was seen."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator

import torch

from kernelwright.core.outcome import Reason, ReasonCode, Status


class Refused(Exception):
    """The candidate did not pass. It never leaves ``Judge.evaluate``."""

    def __init__(self, code: ReasonCode, detail: str, *, place: str = "") -> None:
        self.code, self.detail, self.place = code, detail, place
        super().__init__(": ".join(filter(None, (place, detail))))

    @property
    def status(self) -> Status:
        assert self.code.status is not None  # a judge gives no unclassified reason
        return self.code.status

    @property
    def reason(self) -> Reason:
        return Reason(self.code, str(self))

    @property
    def says_no_memory(self) -> bool:
        """True if its words tell of lacking device memory. A candidate chooses its words: ask this
        only about processes in which no candidate runs."""
        return says_no_memory(self.detail)

    def at(self, place: str) -> Refused:
        """The same, seen at this place, unless its place is known."""
        return Refused(self.code, self.detail, place=self.place or place)


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
"""Exceptions that a task's own code may raise on inputs that it was not made for. MemoryError and
the judge's own errors are none of them; for want of memory on a GPU see ``memory_apart``."""
NO_MEMORY = (
    "out of memory",
    "alloc_failed",
    "cublas_status_not_initialized",
    "busy or unavailable",
)
"""Words of CUDA and its libraries when they find no memory for a handle, a kernel's code, or a
context (on an H200 whose memory another process held)."""


@contextlib.contextmanager
def memory_apart() -> Iterator[None]:
    """Want of a GPU's memory is a MemoryError in here, as on a CPU: another's candidate may hold
    it, and whoever asks whether a reference fails on some inputs must not take it for that."""
    try:
        yield
    except RuntimeError as error:
        if isinstance(error, torch.OutOfMemoryError) or says_no_memory(str(error)):
            raise MemoryError(str(error)) from error
        raise


def says_no_memory(text: str) -> bool:
    """True if an error's text tells of lacking memory: torch and CUDA say it by no one type.

    Only for errors of the judge's own calls, and of processes in which no candidate runs.
    """
    return any(no in text.lower() for no in NO_MEMORY)
