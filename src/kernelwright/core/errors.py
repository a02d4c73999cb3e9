"""The exceptions of the product. A bad candidate is never one of them: it is an Evaluation.

KernelwrightError
├── UsageError      an argument, option or setting that does not exist or does not fit
├── TaskError       the task cannot be read, run or compared
├── DialectError    the toolchain is absent or too old
├── ProposerError   a proposer's endpoint, budget or reply
├── ArchiveError    locked, damaged, or newer than this version
├── ReceiptError    absent, damaged, or newer than this version
└── DeviceError     the machine failed; never charged to a candidate
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class KernelwrightError(Exception):
    """What went wrong, what was seen, and what to do about it.

    ``exit_code`` is what the command line leaves with: 2 for wrong use or bad input, 3 when the
    machine failed.
    """

    exit_code = 2

    def __init__(self, what: str, *, seen: str = "", do: str = "") -> None:
        self.what = what
        self.seen = seen
        self.do = do
        super().__init__(str(self))

    def __str__(self) -> str:
        lines = [f"{type(self).__name__}: {self.what}"]
        if self.seen:
            lines.append(f"  seen: {self.seen}")
        if self.do:
            lines.append(f"  do:   {self.do}")
        return "\n".join(lines)


class UsageError(KernelwrightError):
    """An argument, option or setting that does not exist or does not fit."""


class TaskError(KernelwrightError):
    """The task cannot be read, run or compared."""


class DialectError(KernelwrightError):
    """The toolchain of a dialect is absent or too old."""

    @classmethod
    def of_missing(cls, what: str, missing: str) -> DialectError:
        """What cannot be done for what a machine lacks: ``missing`` says that and, after a
        semicolon, how to get it."""
        seen, _, remedy = missing.partition("; ")
        return cls(what, seen=seen, do=remedy or "see `kernelwright doctor`")


class ProposerError(KernelwrightError):
    """A proposer's endpoint, budget or reply."""


class ArchiveError(KernelwrightError):
    """The archive is locked, damaged, or newer than this version."""


class ReceiptError(KernelwrightError):
    """The receipt of a verdict is absent, damaged, or newer than this version."""


class DeviceError(KernelwrightError):
    """The machine failed: no memory, no disk, a lost device. Never charged to a candidate."""

    exit_code = 3


MOST_NAMED = 40  # the zoo has six hundred


def nearest(name: str, known: Iterable[str]) -> str:
    """A remedy that names the known word closest to ``name``, or all of them, if they are few."""
    known = sorted(known)
    close = difflib.get_close_matches(name, known, n=1)
    if close:
        return f'did you mean "{close[0]}"?'
    left_out = [f"and {len(known) - MOST_NAMED} others"] if len(known) > MOST_NAMED else []
    return "choose one of: " + ", ".join([*known[:MOST_NAMED], *left_out])
