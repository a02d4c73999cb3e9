"""Which calls are verified, by chance: a candidate cannot tell them apart."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import torch

from kernelwright.judge.checks import Draw, derive_seed
from kernelwright.judge.reference.oracle import Oracle

VERIFIED_SHARE, FEWEST_VERIFIED = 0.1, 3
"""Share of the timed calls that are compared with float64, and how many at least: of seven calls
none would be drawn in half of the verdicts. All are compared with eager's result."""

Timed = tuple[Draw, list[Any], list[torch.Tensor]]
"""A timed call: its draw, arguments and outputs."""


class TimedSample:
    """Which timed calls are compared with float64, drawn at random from all of them."""

    def __init__(self, coin: random.Random) -> None:
        self._coin = coin
        self._n_timed = self.n_verified = 0
        self._waiting: list[Timed] = []

    def is_chosen(self, timed: Timed, *, at_once: bool, may_wait: bool) -> bool:
        """Whether to verify a call now, ``at_once`` in any case; if it ``may_wait``, another one
        may be verified at the end."""
        self._n_timed += 1
        share = VERIFIED_SHARE
        if not may_wait:  # too large to be kept until the end
            share = max(share, FEWEST_VERIFIED / self._n_timed)
        if at_once or self._coin.random() < share:
            return True
        if may_wait:
            self._waiting.append(timed)
            if len(self._waiting) > FEWEST_VERIFIED:
                self._drop_one()
        return False

    def _drop_one(self) -> None:
        """Drop a waiting call such that each timed call is among them with the same probability."""
        place = self._coin.randrange(self._n_timed - self.n_verified)
        del self._waiting[place if place < FEWEST_VERIFIED else -1]

    def left(self) -> Iterator[Timed]:
        """Yield calls that are still to be verified, while fewer than FEWEST_VERIFIED have been."""
        self._coin.shuffle(self._waiting)
        while self._waiting and self.n_verified < FEWEST_VERIFIED:
            yield self._waiting.pop()
        self._waiting.clear()


class Rechecks:
    """Draws for checked calls during the rounds and after them, on inputs never seen."""

    def __init__(self, oracle: Oracle, coin: random.Random) -> None:
        self._oracle, self._coin = oracle, coin
        self.n_made = 0
        self._left: list[Draw] = []
        self._n_drawn: Counter[Draw] = Counter()
        """By check and turn: what was worked out for one candidate serves the next."""
        self._ready: Draw | None = None

    def get_ready(self, draws: list[Draw]) -> None:
        """Choose the next one, and work out what it should give."""
        self._refill(draws)
        draw = self._left.pop()
        self._n_drawn[draw] += 1
        seed = derive_seed(self._oracle.secret, draw.name, self._n_drawn[draw])
        self._ready = Draw(draw.check, seed + draw.turn, draw.turn)
        self._oracle.expectations.of(self._ready, self._oracle.inputs.kept(self._ready))

    def next(self) -> Draw:
        """The one that is ready."""
        assert self._ready is not None
        self.n_made += 1
        return self._ready

    def begin_rest(self, draws: list[Draw]) -> int:
        """Put the checks last, and so first in turn, that a sample of the inputs does not show,
        whether they have had a turn or not. Returns how many rechecks there are in all until each
        check has had one."""
        self._refill(draws)
        rare = [draw for draw in draws if draw.check.is_rare]
        n_before = len(self._left)
        self._left = [draw for draw in self._left if draw not in rare] + rare
        return len(draws) + len(self._left) - n_before

    def _refill(self, draws: list[Draw]) -> None:
        if not self._left:
            self._left = self._coin.sample(draws, len(draws))
