"""The queue of builds: the next candidates are built while the first one is examined."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice

from kernelwright.core.candidate import Candidate
from kernelwright.judge.submission import Submission


class BuildQueue:
    """Submissions in order; the next ones are built in threads while the first is examined.

    ``submit`` makes a submission of a candidate, ``build`` builds it, in a thread.
    """

    def __init__(
        self,
        candidates: Iterable[Candidate],
        submit: Callable[[Candidate], Submission],
        build: Callable[[Submission], None],
        *,
        length: int,
    ) -> None:
        self._candidates = iter(candidates)
        self._submit, self._build = submit, build
        self._length = length
        self._waiting: deque[tuple[Submission, Future[None]]] = deque()
        self._pool = ThreadPoolExecutor(max(1, length), "build")

    def __iter__(self) -> Iterator[Submission]:
        """Each is built when it comes; the caller closes it."""
        while True:
            self._fill(max(1, self._length))
            if not self._waiting:
                return
            first, future = self._waiting[0]
            future.result()
            self._waiting.popleft()
            self._fill(self._length)
            yield first

    def batches(self) -> Iterator[list[Submission]]:
        """Lists of submissions that are built together, all ready; the caller closes them."""
        while True:
            self._fill(self._length)
            if not self._waiting:
                return
            for _, future in self._waiting:
                future.result()
            batch = [submission for submission, _ in self._waiting]
            self._waiting.clear()
            yield batch

    def restart(self) -> None:
        """End all that were built ahead, and build them anew when their turn comes."""
        candidates = [submission.candidate for submission, _ in self._waiting]
        self._end_waiting()
        self._candidates = chain(candidates, self._candidates)

    def close(self) -> None:
        """End all that were built ahead."""
        self._end_waiting()
        self._pool.shutdown()

    def _fill(self, n: int) -> None:
        for candidate in islice(self._candidates, n - len(self._waiting)):
            submission = self._submit(candidate)
            self._waiting.append((submission, self._pool.submit(self._build, submission)))

    def _end_waiting(self) -> None:
        for submission, future in self._waiting:
            future.cancel()
            submission.abandon()
        for submission, future in self._waiting:
            if not future.cancelled():
                future.exception()
            submission.close()
        self._waiting.clear()
