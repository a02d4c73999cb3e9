"""Pool: the candidates that wait for a trial, those first that promise most."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kernelwright.core.candidate import Proposal
from kernelwright.core.trial import Outline
from kernelwright.tuner.cost_model import CostModel
from kernelwright.tuner.surrogate import gains

if TYPE_CHECKING:
    from kernelwright.tuner.tuner import Tried

LEAST_S = 1.0
"""Seconds in which the texts of a race are written in any case."""
DEPTH = 4
"""Candidates that are written for each one that is tried, to choose from."""
FILL_S = 0.5
"""Seconds after which no more are written if there are enough: the texts of a large network take
seconds each."""


class Candidates(Protocol):
    """A source of candidates for a pool."""

    def stream(self, leaders: Sequence[Proposal]) -> Iterator[Proposal]:
        """Yield candidates on demand, none twice, with those near the leaders among them."""
        ...

    def outline(self, proposal: Proposal) -> Outline:
        """Return the outline of a candidate's program."""
        ...

    def goes_first(self, proposal: Proposal) -> bool:
        """Return whether a candidate is tried before others, whatever the model expects."""
        ...


class Pool:
    """Holds written candidates, and hands out the most promising.

    Before anything is measured they are in the cost model's order. Then what was measured corrects
    the model. What similar programs won with and the first that the rules name go first in any
    case.
    """

    def __init__(self, candidates: Candidates, model: CostModel) -> None:
        self._candidates, self.model = candidates, model
        self._waiting: list[Proposal] = []
        self._log_ns: dict[str, float] = {}
        self._promised: dict[str, float] = {}
        self._left = float("inf")

    def take(self, n: int, tried: Sequence[Tried], until: float) -> list[Proposal]:
        """Return at most ``n`` candidates and forget them; none if there are no more.

        ``tried``: what was measured, the fastest first. After ``until``, a time of the monotonic
        clock, no more are written than one.

        Raises:
            CannotCapture: no part of the module can be captured.
            TaskError: the task cannot be opened.
        """
        self._fill(n, [one.proposal for one in tried], until)
        if not self._waiting:
            return []
        promise = self._promise(self._waiting, tried)
        promised = promise if tried else np.full_like(promise, np.inf)
        promise[[self._candidates.goes_first(one) for one in self._waiting]] = np.inf
        order = [int(place) for place in np.argsort(-promise, kind="stable")]
        taken = [self._waiting[place] for place in order[:n]]
        self._promised |= {
            self._waiting[place].candidate.digest: float(promised[place]) for place in order[:n]
        }
        self._left = float(promised[order[n:]].max(initial=0.0))
        self._waiting = [self._waiting[place] for place in sorted(order[n:])]
        return taken

    def promising(
        self, taken: Sequence[Proposal], tried: Sequence[Tried], least: float
    ) -> list[str]:
        """Return the digests of those of the ``taken`` that are expected to save at least this
        share of the best time, now that others were ``tried``; the most promising first."""
        if not taken:
            return []
        promise = self._promise(taken, tried)
        order = [int(place) for place in np.argsort(-promise, kind="stable")]
        return [taken[place].candidate.digest for place in order if promise[place] >= least]

    def _promise(self, proposals: Sequence[Proposal], tried: Sequence[Tried]) -> NDArray[Any]:
        """Return the gain that each proposal promises, as a logarithm."""
        known = [
            (one.proposal, self.expected(one.proposal), float(np.log(one.time_ns))) for one in tried
        ]
        return gains(known, [(one, self.expected(one)) for one in proposals])

    def expected_gain(self, taken: Iterable[str]) -> float:
        """Return the share of the best time that a candidate is expected to save at most, of those
        that wait and of those with these digests, which were ``taken`` and are not tried yet."""
        return max([self._left, *(self._promised.get(name, 0.0) for name in [*taken])])

    def outline(self, proposal: Proposal) -> Outline:
        """Return the outline of a candidate's program."""
        return self._candidates.outline(proposal)

    def expected(self, proposal: Proposal) -> float:
        """Return the logarithm of the time that the model expected before any trial."""
        return self._log_ns[proposal.candidate.digest]

    def _fill(self, n: int, leaders: Sequence[Proposal], until: float) -> None:
        start_s = time.monotonic()
        fresh: list[Proposal] = []
        for proposal in self._candidates.stream(leaders):
            if not self._waiting and not fresh:  # the task is open now, which may have taken all
                until = max(until, time.monotonic() + LEAST_S)
            fresh.append(proposal)
            n_waiting = len(self._waiting) + len(fresh)
            now_s = time.monotonic()
            is_enough = n_waiting >= n and now_s > start_s + FILL_S
            if n_waiting >= DEPTH * n or is_enough or now_s > until:
                break
        told = [(self.outline(p), p.schedule, p.candidate.dialect) for p in fresh]
        for proposal, log_ns in zip(fresh, self.model.log_ns(told), strict=True):
            self._log_ns[proposal.candidate.digest] = float(log_ns)
        self._waiting += fresh
