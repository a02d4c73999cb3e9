"""BuildQueue: candidates on their way to a race; those in Triton are compiled meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence

from kernelwright.core.candidate import Proposal
from kernelwright.tuner.process import BuilderEnded, TunerProcess

COMPILED_APART = ("triton",)
"""Dialects that are compiled apart from the worker, because their compilers hold Python's lock.
Compilers of other dialects work side by side in the worker's threads."""
POLL_S = 0.05
PATIENCE_S = 0.5
"""Seconds to wait for a whole race if a smaller one is ready: compilers need time of their own for
each candidate, and the slowest of many decides."""


class BuildQueue:
    """Hands on candidates when they are compiled, so that all cores compile at all times.

    One thread may add while another takes.
    """

    def __init__(
        self, process: TunerProcess, tell: Callable[[str], None] = lambda text: None
    ) -> None:
        """``tell`` is called once, if a candidate cannot be compiled ahead by no fault of its own,
        from the thread that takes."""
        self._process, self._tell = process, tell
        self._is_told = False
        self.n_compiled = self.n_failed = 0
        """Number of candidates that were compiled ahead, and that failed there."""
        self._waiting: dict[str, Proposal] = {}
        self._building: set[str] = set()

    def __len__(self) -> int:
        return len(self._waiting)

    def __iter__(self) -> Iterator[str]:
        """The digests of the candidates."""
        return iter([*self._waiting])

    def add(self, proposals: Sequence[Proposal]) -> None:
        """Add candidates, and begin to compile them."""
        apart = [p for p in proposals if p.candidate.dialect in COMPILED_APART]
        if apart and self._process.architecture:
            self._building |= {p.candidate.digest for p in apart}
            self._process.build(
                [(p.candidate.digest, p.candidate.source, p.candidate.entry) for p in apart]
            )
        self._waiting |= {p.candidate.digest: p for p in proposals}

    def proposals(self) -> list[Proposal]:
        """Return the candidates that wait, in the order in which they came."""
        return [*self._waiting.values()]

    def wait_for_first(self, until: float) -> None:
        """Wait until the candidate that came first is compiled, at most until the time ``until``.

        It promises most, and large products take longest to compile: without this, a first race
        would be among what is compiled soonest.
        """
        while self._waiting and next(iter(self._waiting)) in self._building:
            if time.monotonic() > until:
                return
            self._note_built()

    def take(
        self, n: int, least: int, until: float, among: Collection[str] | None = None
    ) -> list[Proposal]:
        """Return at most ``n`` candidates that are compiled, in the order in which they came; none
        if there are none at all. ``among``: the digests to take from, in their order; None: all.

        It waits for ``n`` of them, but not for more than ``least`` of them for long, and after the
        time ``until`` not for more than one.
        """
        start_s = time.monotonic()
        while True:
            names = [*self._waiting] if among is None else [x for x in among if x in self._waiting]
            ready = [name for name in names if name not in self._building]
            now_s = time.monotonic()
            wanted = n if now_s < start_s + PATIENCE_S else min(n, least)
            wanted = min(wanted if now_s < until else 1, len(names))
            if len(ready) >= wanted:
                return [self._waiting.pop(name) for name in ready[:n]]
            self._note_built()

    def _note_built(self) -> None:
        """Wait a moment for the compilers, and note what they have done."""
        try:
            ended = self._process.built(POLL_S)
        except BuilderEnded as error:
            self.n_failed += len(self._building)
            self._building.clear()
            self._report(str(error))
            return
        if ended is None:  # the worker compiles them
            self._building.clear()
            return
        for one in ended:
            self._building.discard(one.name)
            self.n_compiled += one.is_compiled
            self.n_failed += not one.is_compiled
            if one.fault:
                self._report(one.fault)

    @property
    def counted(self) -> str:
        """How many candidates were compiled ahead, in words; empty before the first has ended."""
        if not self.n_compiled + self.n_failed:
            return ""
        return f"candidates compiled ahead: {self.n_compiled}; failed ahead: {self.n_failed}"

    def _report(self, fault: str) -> None:
        """Tell the first fault: all others are likely to be the same."""
        if not self._is_told:
            self._is_told = True
            self._tell(
                f"a candidate could not be compiled ahead, by no fault of its own: {fault}; "
                "the search goes on, but slower: report this"
            )

    def close(self) -> None:
        """Stop all compilers."""
        self._process.end_builds()
