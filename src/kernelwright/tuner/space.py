"""Space: the candidates that the rules can write for a task.

The tuner takes no candidate's text from anybody: it takes points of this space, whose text the
emitters write. A text that others wrote is tried only if ``admission`` admits it.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Sequence
from functools import cached_property

from kernelwright.compiler.codegen.outline import outline_of
from kernelwright.core.candidate import Brief, Proposal
from kernelwright.core.trial import Outline
from kernelwright.proposers.rules.proposer import OpenedTask, first_proposals, neighbours_of

BEAM = 4
"""Number of leaders whose neighbours are tried."""


def is_tunable(proposal: Proposal) -> bool:
    """Return whether a proposal of the rules can be tried in the tuner's process.

    Those that torch.compile tunes take 10 to 50 seconds for their first call.
    """
    return "compile" not in proposal.schedule["kernels"]


class Space:
    """Yields every candidate once; the neighbours of leaders beside those of the rules' order."""

    def __init__(self, brief: Brief) -> None:
        self._brief = brief
        self._lines: dict[str, Iterator[Proposal]] = {}
        self._seen: set[str] = set()
        self._untunable: list[Proposal] = []
        self._outlines: dict[tuple[str, str], Outline] = {}

    @cached_property
    def _opened(self) -> OpenedTask:
        return OpenedTask(self._brief)

    @cached_property
    def _first(self) -> Iterator[Proposal]:
        return first_proposals(self._opened)

    def stream(self, leaders: Sequence[Proposal]) -> Iterator[Proposal]:
        """Yield candidates that were not yielded before, on demand.

        Half of them are neighbours of the ``leaders``, as long as there are both kinds.

        Raises:
            CannotCapture: no part of the module can be captured.
            TaskError: the task cannot be opened.
        """
        near = self._near(leaders[:BEAM])
        mixed = itertools.chain.from_iterable(itertools.zip_longest(near, self._first))
        fresh = (one for one in mixed if one is not None and self._is_new(one))
        return (one for one in fresh if self._is_tunable(one))

    def outline(self, proposal: Proposal) -> Outline:
        """Return the outline of the program that a candidate of this space is the text of."""
        variant, dialect = proposal.schedule["variant"], proposal.candidate.dialect
        if (variant, dialect) not in self._outlines:
            self._outlines[variant, dialect] = outline_of(self._opened.program_of(proposal))
        return self._outlines[variant, dialect]

    def untunable(self, until: float) -> Iterator[Proposal]:
        """Yield the candidates of the rules that cannot be tried, until the time ``until``."""
        while self._untunable:
            yield self._untunable.pop(0)
        for proposal in self._first:  # each text of a large network takes seconds
            if time.monotonic() > until:
                return
            if self._is_new(proposal) and not is_tunable(proposal):
                yield proposal

    def _near(self, leaders: Sequence[Proposal]) -> Iterator[Proposal]:
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
