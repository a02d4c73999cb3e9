"""Runs a waiting proposer in a separate thread while the judge works."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from types import TracebackType

from kernelwright.core.call import Call, Outcome
from kernelwright.core.candidate import Brief, Proposal
from kernelwright.core.errors import ProposerError
from kernelwright.proposers.base import WaitingProposer

MAX_BACKLOG = 2
"""Proposals that may wait for the judge when the next round is started."""

Item = tuple[Proposal | Call, Brief]
"""A proposal or a call, with the brief that it answers."""


class _Mark(Enum):
    ROUND = "a round is over"
    END = "nothing more will come"


def require_an_answer(calls: Sequence[Call]) -> None:
    """Check that at least one of a run's calls was answered, if there were any.

    Raises:
        ProposerError: all calls failed.
    """
    if calls and all(call.outcome is Outcome.FAILED for call in calls):
        raise ProposerError(
            "no model answered",
            seen=f"{calls[-1].model}: {calls[-1].detail}",
            do="check that its server runs and can be reached; the same command resumes from here",
        )


class Feed:
    """Iterates over the proposals and calls of a proposer, round after round.

    Every call is kept as soon as it ends, even if nobody reads the feed any more. The feed is a
    context manager: leaving it begins no further calls and waits for the calls in flight, which are
    already paid for.
    """

    def __init__(
        self,
        proposer: WaitingProposer,
        brief: Callable[[], Brief],
        keep: Callable[[Call], None],
        *,
        takes_turns: bool,
    ) -> None:
        """With ``takes_turns`` no proposal is handed out while calls are running."""
        self._proposer, self._brief, self._keep = proposer, brief, keep
        self._takes_turns = takes_turns
        self._items: queue.SimpleQueue[Item | _Mark | Exception] = queue.SimpleQueue()
        self._backlog_changed = threading.Condition()
        self._backlog = 0
        self._is_over = False
        self._thread = threading.Thread(target=self._pull, daemon=True, name=proposer.name)

    def __enter__(self) -> Feed:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._backlog_changed:
            self._is_over = True
            self._backlog_changed.notify()
        if kind is None or issubclass(kind, Exception):  # Ctrl-C does not wait for a model
            self._thread.join()

    def __iter__(self) -> Iterator[Item]:
        """Yield calls as they end, and proposals.

        A proposal counts as judged when the next item is requested.

        Raises:
            ProposerError: the proposer raised it.
        """
        held: list[Item] = []
        while (item := self._items.get()) is not _Mark.END:
            if isinstance(item, Exception):
                raise item
            if item is _Mark.ROUND:
                for each in held:
                    yield from self._handed(each)
                held.clear()
            elif self._takes_turns and isinstance(item[0], Proposal):
                held.append(item)
            else:
                yield from self._handed(item)

    def _handed(self, item: Item) -> Iterator[Item]:
        yield item
        if isinstance(item[0], Proposal):
            with self._backlog_changed:
                self._backlog -= 1
                self._backlog_changed.notify()

    def _pull(self) -> None:
        try:
            limit = 0 if self._takes_turns else MAX_BACKLOG
            while self._round():
                with self._backlog_changed:
                    self._backlog_changed.wait_for(lambda: self._backlog <= limit or self._is_over)
                    if self._is_over:
                        break
            self._items.put(_Mark.END)
        except Exception as error:  # the edge of the thread: raised again in the reading thread
            self._items.put(error)

    def _round(self) -> bool:
        """Run one round and return whether there may be another."""
        brief = self._brief()
        n_calls = 0
        for item in self._proposer.propose(brief):
            if isinstance(item, Call):
                n_calls += 1
                self._keep(item)
            else:
                with self._backlog_changed:
                    self._backlog += 1
            self._items.put((item, brief))
        self._items.put(_Mark.ROUND)
        return n_calls > 0
