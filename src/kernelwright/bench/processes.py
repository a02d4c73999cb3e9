"""The work that a suite does on one task, each piece in its own process."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from kernelwright.archive import Archive
from kernelwright.console.terminal import error_facts
from kernelwright.core.device import Device
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.dialects.devices import resolve
from kernelwright.judge import Judge, SharedForkServer
from kernelwright.judge.scheduling.memory import needed_bytes
from kernelwright.search import judging, loop
from kernelwright.workers.workers import Workers

RUN_ALONE = "run kernelwright optimize on this task alone to see the error"
INTERRUPTED = {"what": "the search was interrupted", "seen": "Ctrl-C", "do": "run it again"}
PRELOADED = (
    __name__,
    "kernelwright.judge.judge",
    "kernelwright.proposers.rules.proposer",
    "torch._dynamo",  # its import would take two seconds in every search
    "torch.export._trace",
)

Work = Callable[..., Any]
"""A function of a task, settings, and the keyword argument ``fork_server``."""


def search_task(
    task: Task, settings: Settings, fork_server: SharedForkServer, limit_s: float = math.inf
) -> None:
    """Search the task, unless the library is already as fast as a copy. The search is stopped after
    ``limit_s`` seconds."""
    result = loop.optimize(
        task, settings=settings, fork_server=fork_server, stops_early=True, limit_s=limit_s
    )
    if result.interrupted:
        raise KeyboardInterrupt


def survey_task(task: Task, settings: Settings, fork_server: SharedForkServer) -> None:
    """Time only the library, and record the search as ended if nothing can be gained."""
    device = resolve(Device.parse(settings.device))
    with Judge(
        task, device=device, settings=settings, fork_server=fork_server, for_library=True
    ) as judge:
        ended = judge.nothing_to_win()
        if ended:
            with Archive(settings.archive) as archive:
                archive.add_task(task, [judge.workload])
                ended |= judge.copying() | judging.found_on(judge)
                archive.finish_run(archive.start_run(task, settings), ended)


def size_task(task: Task, settings: Settings, fork_server: SharedForkServer) -> int:
    """Return the bytes of device memory that judging the task takes."""
    return needed_bytes(task)


def in_a_process(
    work: Work,
    task: Task,
    settings: Settings,
    limit_s: float,
    workers: Workers,
    needs_device: bool = True,
) -> Any:
    """Run ``work`` in its own process; return its value, or an error as a dictionary.

    The dictionary has the keys 'what', 'seen' and 'do'.
    """
    ending = workers.run(
        partial(work, task, settings),
        limit_s=limit_s,
        preload=PRELOADED,
        needs_device=needs_device,
    )
    if ending.is_interrupted:
        return INTERRUPTED
    if ending.is_late:
        seen = f"it did not end within {limit_s:.0f} s"
        do = "give it more time with --limit; its results so far are in the archive"
        return {"what": "the search was stopped", "seen": seen, "do": do}
    if ending.died:
        return {"what": "the search died", "seen": ending.died, "do": RUN_ALONE}
    return error_facts(ending.error) if ending.error else ending.value
