"""Tuner: a search over the rules' candidates that goes on from what was measured."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace

from kernelwright.core.candidate import Proposal
from kernelwright.core.trial import Trial
from kernelwright.tuner.cost_model import Quality, quality
from kernelwright.tuner.pool import Pool
from kernelwright.tuner.queue import POLL_S, BuildQueue
from kernelwright.tuner.racing import FINAL_STAGES
from kernelwright.tuner.trials import TrialRunner

BATCH = {"cpu": 16, "cuda": 32}
"""Number of candidates in a race at most, by kind of device. They are built side by side before
it."""
FIRST = 4
"""Number of candidates in the first race; each later one has twice as many as that before, as far
as the time allows."""
CHUNK = 8
"""Number of candidates that leave the pool at a time."""
READY_S = 3.0
"""Seconds for which the first candidates are written before the search: the library's compiler
takes as long."""
AHEAD = 24
"""Number of candidates that are compiled, or are ready for a race, where that is done apart: as
many as the cores of a host compile. More of them would be chosen without the last trials."""
NOISE = 0.01
"""Gain below which a faster candidate cannot be told from an equal one."""
PATIENCE = 2
"""Number of large races without a gain above the noise after which the next one is not expected to
bring any, whatever the pool expects."""
N_FINAL = 8
"""Number of candidates in the last race."""
MOST_FAILED = 2 * FIRST
"""Number of candidates that fail, after which the search ends with its time although none was
measured: all of a network's that is too sensitive to rounding are wrong. Fewer may all be of one
kind, and another kind may run."""
FIRST_S = 20.0
"""Seconds for which the first race waits at most for the candidate that promises most. A product's
kernels take 2 to 4 s of a core to compile, and several searches share the cores."""


@dataclass(frozen=True)
class Tried:
    """A candidate that was measured, with its trial."""

    proposal: Proposal
    trial: Trial
    time_ns: float


class Tuner:
    """Tries the candidates of a pool until the time is over or no gain is expected.

    ``builds_ahead``: the next candidates are written and compiled while others are measured, on
    cores that those do not need.
    ``known``: trials of earlier searches in the same environment; none is measured again.
    ``on_trials`` is called with the trials of each race. ``payable`` says how many candidates like
    the first one may be compiled ahead: those of a large network have many kernels each.
    """

    def __init__(
        self,
        pool: Pool,
        runner: TrialRunner,
        queue: BuildQueue,
        *,
        batch_size: int,
        builds_ahead: bool = False,
        known: Iterable[Trial] = (),
        on_trials: Callable[[Sequence[Trial]], None] = lambda trials: None,
        payable: Callable[[Proposal], int] = lambda proposal: AHEAD,
    ) -> None:
        self._pool, self._runner, self._queue = pool, runner, queue
        self._batch_size, self._builds_ahead = batch_size, builds_ahead
        self._known = {trial.candidate: trial for trial in known}
        self._on_trials, self._payable = on_trials, payable
        self._ahead: int | None = None if builds_ahead else AHEAD
        self._tried: dict[str, Tried] = {}
        self._n_without_gain = self._n_failed = 0
        self._n_known = 0
        """Number of candidates that were tried when the queue was last refilled."""
        self._size, self._took_s, self._n_fresh = min(FIRST, batch_size), 0.0, 0

    @property
    def leaders(self) -> list[Proposal]:
        """All candidates that were measured, the fastest first."""
        return [tried.proposal for tried in self._ranked()]

    def _ranked(self) -> list[Tried]:
        return sorted([*self._tried.values()], key=lambda tried: tried.time_ns)

    def get_ready(self) -> None:
        """Write the first candidates, and begin to compile them where that is done apart, while
        the library's settings compile.

        Raises:
            CannotCapture, TaskError: as ``run``.
        """
        if self._builds_ahead:
            until = time.monotonic() + READY_S
            self._take(1, until)
            self._take(min(CHUNK, self.n_ahead) - 1, until)

    def run(self, until: float, *, least_s: float = 0.0) -> None:
        """Try candidates until the time ``until`` of the monotonic clock, or until none is left
        that promises a gain. The first race is run in any case, and others until a candidate was
        measured or many have failed. There are at least ``least_s`` seconds from the begin of the
        first: when the worker and the candidate that promises most stand ready.

        Raises:
            CannotCapture: no part of the module can be captured.
            TaskError: the task cannot be opened.
            DeviceError: the tuner's process cannot be started.
        """
        with ThreadPoolExecutor(1, "candidates") as pool, contextlib.ExitStack() as stack:
            stack.callback(self._queue.close)
            ahead = self._refilling(pool, until)
            self._runner.start()
            self._wait_for(ahead)
            self._queue.wait_for_first(time.monotonic() + FIRST_S)
            until = max(until, time.monotonic() + least_s)
            while not self._is_over(until):
                self._wait_for(ahead)
                if ahead.done() and (not len(self._queue) or self._is_exhausted()):
                    if self._n_known == len(self._tried):  # nothing new was found after all trials
                        return
                    ahead = self._refilling(pool, until)
                    continue
                batch = self._next_batch(until)
                if not batch:
                    return
                if self._builds_ahead and ahead.done():
                    ahead = self._refilling(pool, until)
                self._race(batch)
                if not self._builds_ahead:
                    ahead = self._refilling(pool, until)

    def _refilling(self, pool: ThreadPoolExecutor, until: float) -> Future[None]:
        self._n_known = len(self._tried)
        return pool.submit(self._refill, until)

    def _next_batch(self, until: float) -> list[Proposal]:
        """Return the next candidates to race: those that still promise a gain, if there are any."""
        least = FIRST if self._tried else 1  # the sooner anything is known, the better
        return self._queue.take(self._size_until(until), least, until, self._promising() or None)

    def _promising(self) -> list[str]:
        """Return the candidates of the queue that promise a gain; before any was tried, all."""
        if not self._tried:
            return [*self._queue]
        return self._pool.promising(self._queue.proposals(), self._ranked(), NOISE)

    def _wait_for(self, ahead: Future[None]) -> None:
        """Wait for candidates that promise a gain: for all where writing texts would disturb the
        race.

        Raises:
            CannotCapture, TaskError: as for ``run``.
        """
        while self._builds_ahead and not ahead.done():
            if self._promising():
                return
            time.sleep(POLL_S)
        ahead.result()

    def _refill(self, until: float) -> None:
        """Put candidates of the pool into the queue: those of the next race, or as many as keep
        the compilers busy."""
        while not self._is_over(until):
            wanted = self.n_ahead if self._builds_ahead else self._size_until(until)
            n = min(CHUNK, wanted - len(self._queue))
            if n <= 0 or not self._take(n, until):
                return

    @property
    def n_ahead(self) -> int:
        """How many candidates may be compiled, or ready, at a time."""
        return 1 if self._ahead is None else self._ahead

    def _take(self, n: int, until: float) -> bool:
        """Put ``n`` candidates of the pool into the queue; return whether there was any."""
        taken = self._pool.take(n, self._ranked(), until) if n > 0 else []
        if taken and self._ahead is None:
            self._ahead = min(AHEAD, self._payable(taken[0]))
        self._queue.add(taken)
        return bool(taken)

    def _is_exhausted(self) -> bool:
        """Whether the next race is not expected to bring a gain above the noise."""
        if self._n_without_gain and self._pool.expected_gain(self._queue) < NOISE:
            return True
        return self._n_without_gain >= PATIENCE * self._batch_size

    def _size_until(self, until: float) -> int:
        """Return the size of the next batch: as many as the last races would have measured in the
        time that is left."""
        if not self._took_s:
            return self._size
        left_s = max(0.0, until - time.monotonic())
        return max(1, min(self._size, int(left_s * self._n_fresh / self._took_s)))

    def _is_over(self, until: float) -> bool:
        has_tried = bool(self._tried) or self._n_failed >= MOST_FAILED
        return has_tried and time.monotonic() > until

    def _race(self, batch: Sequence[Proposal]) -> None:
        before_ns = self._best_ns()
        n_fresh = self._try(batch)
        if self._best_ns() < (1 - NOISE) * before_ns:
            self._n_without_gain = 0
        else:
            self._n_without_gain += n_fresh

    def finalists(self, n: int, passed: Collection[str] = ()) -> list[Proposal]:
        """Race the best candidates once more, for longer; return the ``n`` fastest.

        The best of many short measurements looks better than it is. Where the judge has ``passed``
        some already, only those count that were faster than them by more than the noise.
        """
        known_ns = [tried.time_ns for name, tried in self._tried.items() if name in passed]
        limit_ns = (1 - NOISE) * min(known_ns, default=float("inf"))
        names = [one.candidate.digest for one in self.leaders]
        best = [self._tried[name] for name in names if self._tried[name].time_ns < limit_ns]
        proposals = [tried.proposal for tried in best[:N_FINAL]]
        if len(proposals) > 1:
            self._note(proposals, self._runner.measure(proposals, FINAL_STAGES))
        chosen = {proposal.candidate.digest for proposal in proposals}
        return [one for one in self.leaders if one.candidate.digest in chosen][:n]

    def drop(self, candidate: str) -> None:
        """Forget the candidate of this digest: the judge has refused it."""
        self._tried.pop(candidate, None)

    def _try(self, batch: Sequence[Proposal]) -> int:
        """Note what is known of a batch, and measure the others; return their number."""
        known = [p for p in batch if p.candidate.digest in self._known]
        fresh = [p for p in batch if p.candidate.digest not in self._known]
        for proposal in known:
            trial = self._known[proposal.candidate.digest]
            self._note([proposal], [trial])
            self._runner.adopt(proposal, trial)
        if fresh:
            start_s = time.monotonic()
            measured = zip(fresh, self._runner.measure(fresh), strict=True)
            trials = [self._with_order(proposal, trial) for proposal, trial in measured]
            self._took_s, self._n_fresh = time.monotonic() - start_s, len(fresh)
            self._size = min(2 * self._size, self._batch_size)
            self._on_trials(trials)
            self._note(fresh, trials)
        return len(fresh)

    def _with_order(self, proposal: Proposal, trial: Trial) -> Trial:
        """Return the trial with what the pool knew of its candidate before."""
        expected_ns = math.exp(self._pool.expected(proposal))
        return replace(trial, outline=self._pool.outline(proposal), expected_ns=expected_ns)

    def quality(self) -> Quality:
        """Return how good the order was that the candidates had before any was tried."""
        tried = [*self._tried.values()]
        expected = [self._pool.expected(one.proposal) for one in tried]
        return quality([(expected, [one.time_ns for one in tried])])

    def _note(self, proposals: Sequence[Proposal], trials: Sequence[Trial]) -> None:
        for proposal, trial in zip(proposals, trials, strict=True):
            if trial.time_ns is not None:
                self._tried[trial.candidate] = Tried(proposal, trial, trial.time_ns)
            else:
                self._n_failed += 1
                self._tried.pop(trial.candidate, None)

    def _best_ns(self) -> float:
        return min((tried.time_ns for tried in self._tried.values()), default=float("inf"))
