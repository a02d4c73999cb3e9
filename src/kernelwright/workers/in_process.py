"""Runs one piece of work in its own process, so that a crash is contained and memory is released.

The processes are forked from one that has imported the modules they need and has used no device.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import math
import multiprocessing
import os
import select
import signal
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from kernelwright.core.errors import DeviceError, KernelwrightError
from kernelwright.judge import SharedForkServer
from kernelwright.judge.sandbox.scratch import Scratch
from kernelwright.workers.slots import WHOLE_MACHINE, WorkerSlot

CLOSING_S = 30.0
"""Seconds that interrupted work has to write its results before it is killed."""
PARENT_DEATH = "kernelwright.workers.parent_death"
ASKED_S = 8.0
"""Seconds between interrupts: an interrupt that arrives during imports can get lost."""
LOOK_S = 0.5
"""Seconds between looks at whether the work is cancelled."""
_EXIT_CODES = threading.Lock()
"""Held while a process is started or an exit code is read. Starting a process also reads the codes
of all others that have ended, and the second of two threads that read the same one gets 255.

Source:
    multiprocessing/process.py (_cleanup) and popen_forkserver.py (Popen.poll) of Python 3.11.
"""


@dataclass(frozen=True)
class Ending:
    """How the work ended: with a value, or with one of the other fields set."""

    value: Any = None
    error: KernelwrightError | None = None
    """The error that the work raised."""
    died: str = ""
    """A description of the end of a process that returned nothing, or of an unexpected
    exception."""
    is_late: bool = False
    """Whether the work was stopped at its time limit."""
    is_interrupted: bool = False
    """Whether Ctrl-C ended the work."""

    def get(self, work: str, *, do: str) -> Any:
        """Return the value of the work, which is called ``work`` in an error; ``do`` is advice.

        Raises:
            KernelwrightError: the work raised it.
            DeviceError: its process died, or was stopped at its time limit.
            KeyboardInterrupt: Ctrl-C ended it.
        """
        if self.is_interrupted:
            raise KeyboardInterrupt
        if self.is_late or self.died:
            seen = self.died or "it was stopped at its time limit"
            raise DeviceError(f"{work} died", seen=seen, do=do)
        if self.error is not None:
            raise self.error
        return self.value


def in_process(
    work: Callable[..., Any],
    *,
    fork_server: SharedForkServer,
    slot: WorkerSlot = WHOLE_MACHINE,
    on_step: Callable[[Any], None] | None = None,
    limit_s: float | None = None,
    preload: Sequence[str] = (),
    is_cancelled: Callable[[], bool] = lambda: False,
) -> Ending:
    """Run ``work(fork_server=...)`` in a process that has only the slot's GPU and cores.

    With ``on_step`` the work gets an ``on_step`` argument too, and its calls are forwarded to this
    process. The work is interrupted as by Ctrl-C if it takes longer than ``limit_s``, and ends at
    once if this process is killed. ``preload`` names modules that the parent of the fork imports
    first.
    """
    _keep_socket_in_scratch()
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([PARENT_DEATH, __name__, *preload])
    ours, theirs = context.Pipe(duplex=False)
    with contextlib.closing(fork_server.branch()) as branch:
        arguments = (work, branch, slot, theirs, on_step is not None)
        process = context.Process(target=_work, args=arguments)
        with _EXIT_CODES:
            process.start()
    theirs.close()
    try:
        return _listen(ours, on_step, limit_s, is_cancelled) or _stopped(process, is_cancelled())
    except EOFError:
        return Ending(died=f"exit code {_exit_code(process)}")
    finally:
        if _exit_code(process, CLOSING_S) is None:
            process.kill()
        ours.close()


@functools.cache
def _keep_socket_in_scratch() -> None:
    """Let multiprocessing keep its socket in a folder that the next judge removes, if this process
    is killed; its own folders (pymp-…) stay for ever.

    Source:
        multiprocessing/util.py (get_temp_dir) of Python 3.11 and 3.12.
    """
    config = multiprocessing.current_process()._config  # type: ignore[attr-defined]
    if config.get("tempdir") is None:
        scratch = Scratch()
        atexit.register(scratch.close)
        config["tempdir"] = scratch.path


def _listen(
    ours: Connection,
    on_step: Callable[[Any], None] | None,
    limit_s: float | None,
    is_cancelled: Callable[[], bool],
) -> Ending | None:
    """Forward steps until the process sends its ending; None if it is to be stopped before."""
    end = math.inf if limit_s is None else time.monotonic() + limit_s
    while (left_s := end - time.monotonic()) > 0 and not is_cancelled():
        if not ours.poll(min(left_s, LOOK_S)):
            continue
        said = ours.recv()
        if isinstance(said, Ending):
            return said
        if on_step is not None:
            on_step(said)
    return None


def _exit_code(process: BaseProcess, limit_s: float | None = None) -> int | None:
    """Wait for the process to end; its exit code, or None if it outlives ``limit_s``."""
    wait([process.sentinel], limit_s)
    with _EXIT_CODES:
        return process.exitcode


def _stopped(process: BaseProcess, is_cancelled: bool) -> Ending:
    until = time.monotonic() + CLOSING_S
    while _exit_code(process, 0.0) is None and time.monotonic() < until:
        os.kill(process.pid, signal.SIGINT)  # type: ignore[arg-type]  # it has begun
        _exit_code(process, ASKED_S)
    return Ending(is_late=not is_cancelled, is_interrupted=is_cancelled)


def _work(
    work: Callable[..., Any],
    fork_server: SharedForkServer,
    slot: WorkerSlot,
    answer: Connection,
    tells: bool,
) -> None:
    """Run the work in the child process, forward its steps if wanted, and send its ending."""
    slot.enter()
    # The parent interrupts this process even if a background shell made SIGINT ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with contextlib.suppress(BrokenPipeError):  # the parent has gone
        try:
            threading.Thread(target=_end_with, args=(answer,), daemon=True).start()
            called = partial(work, on_step=answer.send) if tells else work
            answer.send(Ending(called(fork_server=fork_server)))
        except KernelwrightError as error:
            answer.send(Ending(error=error))
        except BrokenPipeError:
            raise
        except Exception as error:  # the edge of the process: a driver may fail anywhere
            traceback.print_exc()
            answer.send(Ending(died=f"{type(error).__name__}: {error}"[:300]))
        except KeyboardInterrupt:
            answer.send(Ending(is_interrupted=True))


def _end_with(answer: Connection) -> None:
    """End this process when the parent closes its end of the pipe: what it has found is in the
    archive, and nobody reads more."""
    watched = select.poll()
    watched.register(answer.fileno(), 0)  # an empty mask still reports a closed end
    watched.poll()
    os._exit(1)
