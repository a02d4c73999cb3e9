"""The remaining budget of a round, with every call in flight counted at its maximum cost."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass

from kernelwright.core.candidate import Brief
from kernelwright.core.errors import UsageError
from kernelwright.llm.attached import PICTURE_TOKENS
from kernelwright.llm.endpoint import Messages, Reply, parse

MIN_CALL_S = 30.0
"""Seconds that a call may take even if it begins just before the deadline."""
MAX_CALL_S = 600.0
"""Seconds that any call may take."""


@dataclass(frozen=True)
class Price:
    """Price of a model in USD per million tokens."""

    input_usd: float
    output_usd: float

    def cost_usd(self, input_tokens: int, output_tokens: int) -> float:
        return (input_tokens * self.input_usd + output_tokens * self.output_usd) / 1e6


@dataclass(frozen=True)
class Spend:
    """Tokens and their cost, which is None if the model has no stated price."""

    input_tokens: int
    output_tokens: int
    cost_usd: float | None


def price_of(model: str, prices: Mapping[str, Price]) -> Price | None:
    """Return the stated price, zero for a model on this machine, or None if none is stated."""
    if model in prices:
        return prices[model]
    return Price(0.0, 0.0) if parse(model).is_local else None


def parse_prices(texts: tuple[str, ...]) -> dict[str, Price]:
    """Parse prices of the form 'MODEL=IN/OUT'.

    Raises:
        UsageError: a text is not a price.
    """
    found = {}
    for text in texts:
        model, _, numbers = text.rpartition("=")
        try:
            read, written = (float(number) for number in numbers.split("/"))
        except ValueError:
            read = written = -1.0
        if not (model and 0 <= read < math.inf and 0 <= written < math.inf):  # true for NaN too
            raise UsageError(
                f'"{text}" is not a price',
                seen=text,
                do="write MODEL=IN/OUT in USD per million tokens: openai:NAME=1.25/10",
            )
        found[model] = Price(read, written)
    return found


def most_tokens(text: str) -> int:
    """Return an upper bound on the tokens of ``text``: a token has at least one byte."""
    return len(text.encode())


class Ledger:
    """Keeps the account of one round.

    A call is begun only if some budget would be left after all calls in flight have cost their
    maximum, so the budget is exceeded by one call at most.
    """

    def __init__(self, brief: Brief) -> None:
        self._prices = parse_prices(brief.prices)
        self._tokens_left = brief.budget_tokens
        self._usd_left = brief.budget_usd
        self._deadline = time.monotonic() + brief.budget_s
        self._lock = threading.Lock()

    def reserve(
        self, model: str, messages: Messages, max_output_tokens: int, *, n_pictures: int = 0
    ) -> Spend | None:
        """Reserve the maximum cost of a call; None if no budget is left to begin it."""
        read = sum(most_tokens(text) for _, text in messages) + n_pictures * PICTURE_TOKENS
        with self._lock:
            if time.monotonic() >= self._deadline:
                return None
            if self._tokens_left is not None and self._tokens_left <= 0:
                return None
            if self._usd_left is not None and self._usd_left <= 0:
                return None
            most = self._spend(model, read, max_output_tokens)
            self._take(most, +1)
            return most

    def settle(self, model: str, most: Spend, reply: Reply) -> Spend:
        """Return the actual cost of a call, and release the rest of its reservation.

        Tokens that the server did not count are taken at their upper bound.
        """
        read, written = reply.input_tokens, reply.output_tokens
        if read is None:
            read = most.input_tokens
        if written is None:
            written = most_tokens(reply.answer)
        spent = self._spend(model, read, written)
        with self._lock:
            self._take(most, -1)
            self._take(spent, +1)
        return spent

    def timeout_s(self) -> float:
        """Return the time limit of a call that begins now."""
        return min(MAX_CALL_S, max(MIN_CALL_S, self._deadline - time.monotonic()))

    def patience_s(self) -> float:
        """Return for how long a failed call may be tried again."""
        return max(0.0, self._deadline - time.monotonic())

    def _spend(self, model: str, read: int, written: int) -> Spend:
        price = price_of(model, self._prices)
        return Spend(read, written, None if price is None else price.cost_usd(read, written))

    def _take(self, spend: Spend, sign: int) -> None:
        if self._tokens_left is not None:
            self._tokens_left -= sign * (spend.input_tokens + spend.output_tokens)
        if self._usd_left is not None:
            self._usd_left -= sign * (spend.cost_usd or 0.0)
