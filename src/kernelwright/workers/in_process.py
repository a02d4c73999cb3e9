"""One piece of work in a process of its own: what it breaks is broken for it alone, and its memory
comes back.

Such processes are forked from one that has imported what they need, and used no device.
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
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from kernelwright.core.errors import KernelwrightError
from kernelwright.judge import Nursery
from kernelwright.workers.lanes import WHOLE, Lane

CLOSING_S = 30.0  # work that is told to stop begins nothing else, but writes what it has
ASKED_S = 8.0  # and is told again: an interrupt in the midst of imports can get lost


@dataclass(frozen=True)
class Ending:
    """How the work ended: with a value, or with one of the others."""

    value: Any = None
    error: KernelwrightError | None = None
    """What it raised."""
    died: str = ""
    """What was seen of the end of a process that said nothing, or of an exception of no kind that
    the work raises by contract."""
    is_late: bool = False
    """Whether it was stopped at its limit."""
    is_interrupted: bool = False
    """Whether Ctrl-C ended it."""


def in_process(
    work: Callable[..., Any], *, nursery: Nursery, lane: Lane = WHOLE,
    on_step: Callable[[Any], None] | None = None, limit_s: float | None = None,
    preload: Sequence[str] = (),
) -> Ending:  # fmt: skip
    """How ``work(nursery=...)`` ends in a process that has the lane and nothing else.

    With ``on_step`` the work is given an ``on_step`` too, and what it says there is said here. Work
    that takes longer than ``limit_s`` is interrupted as by Ctrl-C, and so is work that nobody waits
    for any more. ``preload``: modules that the process it is forked from imports first.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, *preload])
    ours, theirs = context.Pipe(duplex=False)
    with contextlib.closing(nursery.branch()) as branch:
        arguments = (work, branch, lane, theirs, on_step is not None)
        process = context.Process(target=_work, args=arguments)
        process.start()
    theirs.close()
    try:
        return _listen(ours, on_step, limit_s) or _stopped(process)
    except EOFError:
        process.join()
        return Ending(died=f"exit code {process.exitcode}")
    finally:
        process.join(CLOSING_S)
        if process.is_alive():
            process.kill()
        ours.close()


def _listen(
    ours: Connection, on_step: Callable[[Any], None] | None, limit_s: float | None
) -> Ending | None:
    """What the process says last; None where it has not by then."""
    end = None if limit_s is None else time.monotonic() + limit_s
    while ours.poll(None if end is None else max(0.0, end - time.monotonic())):
        said = ours.recv()
        if isinstance(said, Ending):
            return said
        if on_step is not None:
            on_step(said)
    return None


def _stopped(process: Any) -> Ending:
    until = time.monotonic() + CLOSING_S
    while process.is_alive() and time.monotonic() < until:
        os.kill(process.pid, signal.SIGINT)
        process.join(ASKED_S)
    return Ending(is_late=True)


def _work(
    work: Callable[..., Any], nursery: Nursery, lane: Lane, answer: Connection, tells: bool
) -> None:
    """The child: work, with steps if they are wanted, and answer with its ending."""
    lane.enter()
    # Its parent stops it by this, also where a shell in the background had it ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=_end_with, args=(answer,), daemon=True).start()
    how = {"on_step": answer.send} if tells else {}
    with contextlib.suppress(BrokenPipeError):  # nobody waits any more
        try:
            answer.send(Ending(work(nursery=nursery, **how)))
        except KernelwrightError as error:
            answer.send(Ending(error=error))
        except BrokenPipeError:
            raise
        except Exception as error:  # a driver may fail anywhere; this is the process's edge
            traceback.print_exc()
            answer.send(Ending(died=f"{type(error).__name__}: {error}"[:300]))
        except KeyboardInterrupt:
            answer.send(Ending(is_interrupted=True))


def _end_with(answer: Connection) -> None:
    """Interrupt this process when whoever waits for the answer has gone."""
    watched = select.poll()
    watched.register(answer.fileno(), 0)  # which tells of a closed end all the same
    watched.poll()
    os.kill(os.getpid(), signal.SIGINT)
