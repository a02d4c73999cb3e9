"""What a suite does with one task, each in a process of its own: what a task breaks is broken for
it alone.

They are forked from one that has imported what a search needs, and used no device.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import select
import signal
import threading
import time
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from kernelwright import search
from kernelwright.archive import Archive
from kernelwright.bench.lanes import WHOLE, Lane
from kernelwright.core.device import Device
from kernelwright.core.errors import KernelwrightError
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.dialects.devices import resolve
from kernelwright.judge import Judge, Nursery
from kernelwright.judge.machine.room import needed_bytes
from kernelwright.terminal import error_facts

CLOSING_S = 30.0  # a search that is told to stop confirms nothing, but writes what it has
ASKED_S = 8.0  # and is told again: an interrupt in the midst of imports can get lost
RUN_ALONE = "run kernelwright optimize on this task alone to see what it says"
INTERRUPTED = {"what": "the search was interrupted", "seen": "Ctrl-C", "do": "run it again"}
PRELOADED = [
    __name__,
    "kernelwright.judge.judge",
    "kernelwright.propose.rules.proposer",
    "torch._dynamo",  # two seconds in every search otherwise
    "torch.export._trace",
]

Work = Callable[[Task, Settings, Nursery], Any]


def search_task(task: Task, settings: Settings, nursery: Nursery) -> None:
    """Search, unless the library leaves nothing to win."""
    result = search.optimize(task, settings=settings, nursery=nursery, stops_early=True)
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
                ended |= judge.copying() | search.found_on(judge)
                archive.finish_run(archive.start_run(task, settings), ended)


def size_task(task: Task, settings: Settings, nursery: Nursery) -> int:
    """The bytes of a device's memory that judging the task takes."""
    return needed_bytes(task)


def in_a_process(
    work: Work, task: Task, settings: Settings, limit_s: float, nursery: Nursery,
    lane: Lane = WHOLE,
) -> Any:  # fmt: skip
    """What ``work`` returns; what, seen and do of an error as a dictionary."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    ours, theirs = context.Pipe(duplex=False)
    branch = nursery.branch()
    process = context.Process(target=_run, args=(work, task, settings, theirs, branch, lane))
    process.start()
    theirs.close()
    branch.close()
    try:
        if ours.poll(limit_s):
            return ours.recv()
        return _stop(process, f"no end within {limit_s:.0f} s")
    except EOFError:
        process.join()
        return {
            "what": "the search died",
            "seen": f"exit code {process.exitcode}",
            "do": RUN_ALONE,
        }
    finally:
        process.join(CLOSING_S)
        if process.is_alive():
            process.kill()
        ours.close()


def _stop(process: Any, seen: str) -> dict[str, Any]:
    until = time.monotonic() + CLOSING_S
    while process.is_alive() and time.monotonic() < until:
        os.kill(process.pid, signal.SIGINT)
        process.join(ASKED_S)
    do = "give it more with --limit; what was found by then is in the archive"
    return {"what": "the search was stopped", "seen": seen, "do": do}


def _run(
    work: Work, task: Task, settings: Settings, answer: Connection, nursery: Nursery, lane: Lane
) -> None:
    """The child: work, and answer with what it gives or with the error."""
    lane.enter()
    # Its parent stops it by this, also where a shell in the background had it ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=_end_with, args=(answer,), daemon=True).start()
    with contextlib.suppress(BrokenPipeError):  # nobody waits any more
        try:
            answer.send(work(task, settings, nursery))
        except KernelwrightError as error:
            answer.send(error_facts(error))
        except Exception as error:  # a driver may fail anywhere; this is the process's edge
            traceback.print_exc()
            seen = f"{type(error).__name__}: {error}"[:300]
            answer.send({"what": "the search died", "seen": seen, "do": RUN_ALONE})
        except KeyboardInterrupt:
            answer.send(INTERRUPTED)


def _end_with(answer: Connection) -> None:
    """Interrupt this process when whoever waits for the answer has gone."""
    watched = select.poll()
    watched.register(answer.fileno(), 0)  # which tells of a closed end all the same
    watched.poll()
    os.kill(os.getpid(), signal.SIGINT)
