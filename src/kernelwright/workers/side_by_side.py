"""Works on several items at a time; a thread waits for the process that works on each item."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def side_by_side(
    work: Callable[[Item], Result],
    items: Iterable[Item],
    *,
    jobs: int,
    on_done: Callable[[Result], None] = lambda result: None,
    on_interrupt: Callable[[], None] = lambda: None,
) -> list[Result | None]:
    """Run ``work`` on all items, ``jobs`` at a time, and return the results in the items' order.

    After Ctrl-C no further item is begun; the result of an item that was not begun is None.
    Processes in this one's group are interrupted too, so they end early by themselves;
    ``on_interrupt`` ends what runs elsewhere.
    """
    with ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(work, item) for item in items]
        try:
            for future in as_completed(futures):
                on_done(future.result())
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            on_interrupt()
    return [None if future.cancelled() else future.result() for future in futures]
