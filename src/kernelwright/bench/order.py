"""The order of the work on a suite, for tasks that share a device's memory."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from kernelwright.suites.suite import SuiteEntry

LARGE_SHARE, HUGE_SHARE = 0.3, 0.6
"""Shares of the device's memory from which a task is large, so that two of them seldom fit side by
side, and huge, so that few others fit beside it."""
Outcome = TypeVar("Outcome")


@dataclass(frozen=True)
class Piece:
    """A piece of the work on a suite: the search of an entry, or a survey of the library for it."""

    entry: SuiteEntry
    is_search: bool = True
    is_large: bool = False


class Order:
    """The order in which pieces of work begin; several threads take them.

    At most ``n_large`` large tasks are under way while there are others: more would only wait for
    each other's memory. Huge ones come last, and are surveyed before as large ones are searched.
    """

    def __init__(
        self,
        entries: Sequence[SuiteEntry],
        share_of: Callable[[SuiteEntry], float | None],
        n_large: int,
    ) -> None:
        """``share_of``: the share of the device's memory that an entry takes; None: it is not to
        begin."""
        self._share_of, self._n_large = share_of, n_large
        self._unsized = deque(entries)
        self._small, self._large, self._last = (deque[Piece]() for _ in range(3))
        self._n_under_way = 0
        self._lock = threading.Lock()

    def do_next(
        self, search: Callable[[SuiteEntry], Outcome], survey: Callable[[SuiteEntry], None]
    ) -> Outcome | None:
        """Do the next piece of work, if there is one left; return the outcome of a search."""
        piece = self.take()
        if piece is None:
            return None
        try:
            return search(piece.entry) if piece.is_search else survey(piece.entry)
        finally:
            self.end(piece)

    def take(self) -> Piece | None:
        """Return the next piece; None if there is none left."""
        with self._lock:
            while self._unsized and not (self._small or self._may_be_large()):
                self._sort(self._unsized.popleft())
            ranked = (self._small, self._large, self._last)
            if self._may_be_large():
                ranked = (self._large,)
            piece = next((queue.popleft() for queue in ranked if queue), None)
            self._n_under_way += piece is not None and piece.is_large
            return piece

    def end(self, piece: Piece) -> None:
        """The work on a piece has ended."""
        with self._lock:
            self._n_under_way -= piece.is_large

    def _may_be_large(self) -> bool:
        return bool(self._large) and self._n_under_way < self._n_large

    def _sort(self, entry: SuiteEntry) -> None:
        """Put an entry into the queues that its size belongs to."""
        share = self._share_of(entry)
        if share is None:
            return
        if share > HUGE_SHARE:
            self._large.append(Piece(entry, is_search=False, is_large=True))
            self._last.append(Piece(entry))
        elif share > LARGE_SHARE:
            self._large.append(Piece(entry, is_large=True))
        else:
            self._small.append(Piece(entry))
