"""What a suite does with one task, each time in a process of its own."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from kernelwright.archive import Archive
from kernelwright.console.terminal import error_facts
from kernelwright.core.device import Device
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.dialects.devices import resolve
from kernelwright.judge import Judge, Nursery
from kernelwright.judge.machine.room import needed_bytes
from kernelwright.search import loop
from kernelwright.workers.in_process import in_process
from kernelwright.workers.lanes import WHOLE, Lane

RUN_ALONE = "run kernelwright optimize on this task alone to see what it says"
INTERRUPTED = {"what": "the search was interrupted", "seen": "Ctrl-C", "do": "run it again"}
PRELOADED = (
    __name__,
    "kernelwright.judge.judge",
    "kernelwright.proposers.rules.proposer",
    "torch._dynamo",  # two seconds in every search otherwise
    "torch.export._trace",
)

Work = Callable[..., Any]
"""Takes a task, settings, and the ``nursery`` by name."""


def search_task(task: Task, settings: Settings, nursery: Nursery) -> None:
    """Search, unless the library leaves nothing to win."""
    result = loop.optimize(task, settings=settings, nursery=nursery, stops_early=True)
    if result.interrupted:
        raise KeyboardInterrupt


def survey_task(task: Task, settings: Settings, nursery: Nursery) -> None:
    """Time the library alone, and end the task's search where it leaves nothing to win."""
    device = resolve(Device.parse(settings.device))
    judging = {"device": device, "settings": settings, "nursery": nursery, "for_library": True}
    with Judge(task, **judging) as judge:
        ended = judge.nothing_to_win()
        if ended:
            with Archive(settings.archive) as archive:
                archive.add_task(task, [judge.workload])
                ended |= judge.copying() | loop.found_on(judge)
                archive.finish_run(archive.start_run(task, settings), ended)


def size_task(task: Task, settings: Settings, nursery: Nursery) -> int:
    """The bytes of a device's memory that judging the task takes."""
    return needed_bytes(task)


def in_a_process(
    work: Work, task: Task, settings: Settings, limit_s: float, nursery: Nursery,
    lane: Lane = WHOLE,
) -> Any:  # fmt: skip
    """What ``work`` returns; what, seen and do of an error as a dictionary."""
    ending = in_process(
        partial(work, task, settings),
        nursery=nursery, lane=lane, limit_s=limit_s, preload=PRELOADED,
    )  # fmt: skip
    if ending.is_interrupted:
        return INTERRUPTED
    if ending.is_late:
        seen = f"no end within {limit_s:.0f} s"
        do = "give it more with --limit; what was found by then is in the archive"
        return {"what": "the search was stopped", "seen": seen, "do": do}
    if ending.died:
        return {"what": "the search died", "seen": ending.died, "do": RUN_ALONE}
    return error_facts(ending.error) if ending.error else ending.value
