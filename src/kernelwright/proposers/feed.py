"""A waiting proposer, pulled in a thread of its own while the judge works."""

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

MAX_BACKLOG = 2  # proposals that may wait for the judge when the next round is asked for

Said = tuple[Proposal | Call, Brief]


class _Mark(Enum):
    ROUND = "a round is over"
    END = "nothing more will come"


def require_an_answer(calls: Sequence[Call]) -> None:
    """See that one of a run's calls was answered, where there were any.

    Raises:
        ProposerError: all of them failed.
    """
    if calls and all(call.outcome is Outcome.FAILED for call in calls):
        raise ProposerError(
            "no model answered",
            seen=f"{calls[-1].model}: {calls[-1].detail}",
            do="see that its server runs and can be reached; the same command goes on from here",
        )


class Feed:
    """Round after round of a proposer: what it says, each beside the brief that it answers.

    Every call is kept as soon as it ends, whether or not anybody reads on. A context manager:
    leaving it waits for the calls in flight, which are paid for, and begins no others.
    """

    def __init__(
        self,
        proposer: WaitingProposer,
        brief: Callable[[], Brief],
        keep: Callable[[Call], None],
        *,
        takes_turns: bool,
    ) -> None:
        """``takes_turns``: nothing is handed out to be judged while calls are running."""
        self._proposer, self._brief, self._keep = proposer, brief, keep
        self._takes_turns = takes_turns
        self._said: queue.SimpleQueue[Said | _Mark | Exception] = queue.SimpleQueue()
        self._room = threading.Condition()
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
        with self._room:
            self._is_over = True
            self._room.notify()
        if kind is None or issubclass(kind, Exception):  # Ctrl-C does not wait for a model
            self._thread.join()

    def __iter__(self) -> Iterator[Said]:
        """Calls as they end, and proposals; a proposal is done with when the next one is asked for.

        Raises:
            ProposerError: the proposer's.
        """
        held: list[Said] = []
        while (said := self._said.get()) is not _Mark.END:
            if isinstance(said, Exception):
                raise said
            if said is _Mark.ROUND:
                for each in held:
                    yield from self._handed(each)
                held.clear()
            elif self._takes_turns and isinstance(said[0], Proposal):
                held.append(said)
            else:
                yield from self._handed(said)

    def _handed(self, said: Said) -> Iterator[Said]:
        yield said
        if isinstance(said[0], Proposal):
            with self._room:
                self._backlog -= 1
                self._room.notify()

    def _pull(self) -> None:
        try:
            limit = 0 if self._takes_turns else MAX_BACKLOG
            while self._round():
                with self._room:
                    self._room.wait_for(lambda: self._backlog <= limit or self._is_over)
                    if self._is_over:
                        break
            self._said.put(_Mark.END)
        except Exception as error:  # the edge of the thread: raised again where it is read
            self._said.put(error)

    def _round(self) -> bool:
        """Pull one round; whether there may be another."""
        brief = self._brief()
        n_calls = 0
        for item in self._proposer.propose(brief):
            if isinstance(item, Call):
                n_calls += 1
                self._keep(item)
            else:
                with self._room:
                    self._backlog += 1
            self._said.put((item, brief))
        self._said.put(_Mark.ROUND)
        return n_calls > 0
