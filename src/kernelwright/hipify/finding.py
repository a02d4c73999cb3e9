"""Finding: one construct that the translator met, and what became of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """What became of a construct."""

    TRANSLATED = "translated"
    CHANGED = "changed"
    """Translated, and its meaning on the other side differs in the way that the reason says."""
    REPAIRED = "repaired"
    """It would have computed something else; the text was changed so that it does not."""
    UNPORTED = "unported"


@dataclass(frozen=True)
class Finding:
    """A construct at a place in a file."""

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
