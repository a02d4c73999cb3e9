"""A finding: one construct that the translator met, and what it did about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """What the translator did about a construct."""

    TRANSLATED = "translated"
    CHANGED = "changed"
    """Translated, but its meaning on the other side differs as the reason says."""
    REPAIRED = "repaired"
    """The text was changed, because it would have computed something else."""
    UNPORTED = "unported"


@dataclass(frozen=True)
class Finding:
    """A construct at a position in a file."""

    line: int
    state: State
    construct: str
    became: str = ""
    reason: str = ""
    advice: str = ""
    file: str = ""

    def __str__(self) -> str:
        text = f"{self.file}:{self.line}: {self.state}: {self.construct}"
        if self.became and self.became != self.construct:
            text += f" -> {self.became}"
        for part in (self.reason, self.advice):
            text += f"; {part}" if part else ""
        return text
