"""Work on several things at a time, each in a process that a thread here waits for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def side_by_side(
    work: Callable[[Item], Result], items: Iterable[Item], *, jobs: int,
    on_done: Callable[[Result], None] = lambda result: None,
) -> list[Result | None]:  # fmt: skip
    """The results in the order of ``items``, ``jobs`` of them made at a time.

    Ctrl-C begins no more: None stands for what was not begun. Processes that ``work`` waits for are
    in the same group and have had it too, so what they were at ends early by itself.
    """
    with ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(work, item) for item in items]
        try:
            for future in as_completed(futures):
                on_done(future.result())
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
    return [None if future.cancelled() else future.result() for future in futures]
