"""Call and PastCall: what a model was asked and answered, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

EXAM = "exam"
"""The purpose of a call whose answer is counted, not searched with."""
EXEMPLARS = "exemplars"
"""The parameter of an exam's call: how many of the model's own kernels its prompt may show."""


class Outcome(StrEnum):
    """How a call ended."""

    ANSWERED = "answered"
    REFUSED = "refused"
    """The model or its provider declined to answer."""
    CUT = "cut"
    """The answer broke off: at the limit of tokens, or with the connection."""
    FAILED = "failed"
    """No answer: no connection, too slow, or the server's error."""


@dataclass(frozen=True)
class Call:
    """One question to a model and its answer, kept whatever became of it.

    It holds all that is needed to go on without asking again, and nothing that is secret.
    """

    id: str
    """Unique; ids sort by the time at which the call ended, and after that of its run."""
    model: str
    """As the user named it: 'openai:NAME', 'http://localhost:8000/v1#NAME', 'hf:PATH'."""
    purpose: str
    """'write', 'repair', 'optimise' (a generator's), 'reformat' (its one chance to mend the form
    of an answer), 'advise' (the analyst's), or 'exam' (to see how often it answers rightly)."""
    context: tuple[str, ...]
    """The parts of the context that the prompt could draw on, in order."""
    template: str
    """The prompt's template with its version: 'generator-1'."""
    dialect: str
    parameters: Mapping[str, Any]
    """What the model was told beside the prompt: limits, temperature, seed."""
    messages: tuple[tuple[str, str], ...]
    """(role, text) of every message, as sent."""
    answer: str
    outcome: Outcome
    detail: str = ""
    """Why it was not answered, without secrets; empty when it was."""
    parent: str | None = None
    """The candidate that it repairs, optimises or advises on, by digest."""
    follows: str | None = None
    """The call whose answer this one reformats, by id."""
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0
    """None where nobody stated the model's price."""
    took_s: float = 0.0

    @property
    def is_shown(self) -> bool:
        """Of an exam: whether the prompt may show kernels, those of the model's own."""
        return bool(self.parameters.get(EXEMPLARS))

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True)
class PastCall:
    """What came of one generator's call on some other task: enough for a bandit to learn from."""

    task_source: str
    model: str
    context: tuple[str, ...]
    passed: bool
