"""Space: the candidates that the rules can write for a task, in the order of their promise.

The tuner takes no candidate's text from anybody: it takes points of this space, whose text the
emitters write. A text that others wrote is tried only if ``admission`` admits it.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from functools import cached_property

from kernelwright.core.candidate import Brief, Proposal
from kernelwright.proposers.rules.proposer import OpenedTask, first_proposals, neighbours_of

BEAM = 4
"""Number of leaders whose neighbours are tried."""


def is_tunable(proposal: Proposal) -> bool:
    """Return whether a proposal of the rules can be tried in the tuner's process.

    Those that torch.compile tunes take 10 to 50 seconds for their first call.
    """
    return "compile" not in proposal.schedule["kernels"]


class Space:
    """Yields every candidate once; the neighbours of leaders beside those of the cost order."""

    def __init__(self, brief: Brief) -> None:
        self._brief = brief
        self._lines: dict[str, Iterator[Proposal]] = {}
        self._seen: set[str] = set()
        self._untunable: list[Proposal] = []

    @cached_property
    def _opened(self) -> OpenedTask:
        return OpenedTask(self._brief)

    @cached_property
    def _first(self) -> Iterator[Proposal]:
        return first_proposals(self._opened)

    def batch(self, n: int, leaders: list[Proposal]) -> Iterator[Proposal]:
        """Yield at most ``n`` candidates that were not yielded before, on demand.

        Half of them are neighbours of the ``leaders``, as long as there are both kinds.

        Raises:
            CannotCapture: no part of the module can be captured.
            TaskError: the task cannot be opened.
        """
        near = self._near(leaders[:BEAM])
        mixed = itertools.chain.from_iterable(itertools.zip_longest(near, self._first))
        fresh = (one for one in mixed if one is not None and self._is_new(one))
        return itertools.islice((one for one in fresh if self._is_tunable(one)), n)

    def untunable(self, until: float) -> Iterator[Proposal]:
        """Yield the candidates of the cost order that cannot be tried, until the time ``until``."""
        while self._untunable:
            yield self._untunable.pop(0)
        for proposal in self._first:  # each text of a large network takes seconds
            if time.monotonic() > until:
                return
            if self._is_new(proposal) and not is_tunable(proposal):
                yield proposal

    def _near(self, leaders: list[Proposal]) -> Iterator[Proposal]:
        """Yield neighbours of the leaders in turn; a leader's line goes on where it stopped."""
        for leader in leaders:
            digest = leader.candidate.digest
            if digest not in self._lines:
                self._lines[digest] = neighbours_of(self._opened, leader)
        lines = [self._lines[leader.candidate.digest] for leader in leaders]
        while lines:
            for line in list(lines):
                proposal = next(line, None)
                if proposal is None:
                    lines.remove(line)
                else:
                    yield proposal

    def _is_new(self, proposal: Proposal) -> bool:
        """Note a proposal; return whether its candidate was not seen before."""
        digest = proposal.candidate.digest
        is_new = digest not in self._seen
        self._seen.add(digest)
        return is_new

    def _is_tunable(self, proposal: Proposal) -> bool:
        """Return whether a proposal can be tried; keep it for later if not."""
        if is_tunable(proposal):
            return True
        self._untunable.append(proposal)
        return False
