"""Use: one way in which programs use a module, and what came of it with a kernel in its place."""

from __future__ import annotations

from dataclasses import dataclass

SERVED, MISSED, REFUSED, IMPOSSIBLE = "served", "missed", "refused", "impossible"
WRONG, RAISED, UNTRIED = "wrong", "raised", "untried"


@dataclass(frozen=True)
class Use:
    """One way to use a module, and what came of it."""

    name: str
    outcome: str
    """'served': by the kernels, and right. 'missed': by the module's own forward, and right; the
    detail is the reason. 'refused': there is no such forward, and the error says why. 'wrong' and
    'raised': a fault. 'impossible': the reference does not allow it. 'untried': there was no time
    for it."""
    detail: str = ""

    @property
    def is_fault(self) -> bool:
        """Whether the built module does not do what the reference does."""
        return self.outcome in (WRONG, RAISED)
