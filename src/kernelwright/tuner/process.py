"""The search's side of the tuner's program: workers that may crash or hang at any candidate."""

from __future__ import annotations

import contextlib
import mmap
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from multiprocessing.connection import Connection
from typing import Any

from kernelwright.core.errors import DeviceError
from kernelwright.judge.sandbox import isolation
from kernelwright.judge.scheduling.device_lock import SharedHold
from kernelwright.tuner.question import Question, put_in_memory
from kernelwright.tuner.worker import POSITION

START_LIMIT_S = 120.0
"""Longest time in seconds until a worker stands ready; a cold disk takes 40 s to import torch."""
STEP_LIMIT_S = 20.0
"""Longest time in seconds of one step: a call, or the build and the first calls of one
candidate."""
POLL_S = 0.05


class WorkerEnded(Exception):
    """A worker crashed or was killed, while the candidate of this number ran."""

    def __init__(self, number: int, detail: str, *, is_late: bool) -> None:
        self.number, self.is_late = number, is_late
        super().__init__(detail)


class TunerProcess:
    """The tuner's program with its current worker; a context manager that ends both."""

    def __init__(
        self,
        question: Question,
        variables: Mapping[str, str],
        *,
        step_limit_s: float = STEP_LIMIT_S,
    ) -> None:
        """``variables``: the environment variables that the device and the dialects want."""
        self._question, self._variables = question, variables
        self._step_limit_s = step_limit_s
        self._is_forking = False
        self._channel: Connection | None = None
        self._pid = 0
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> TunerProcess:
        with contextlib.ExitStack() as stack:
            self._words = stack.enter_context(tempfile.TemporaryFile())
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="kernelwright-tuner-"))
            question_fd = put_in_memory(self._question)
            stack.callback(os.close, question_fd)
            position_fd = os.memfd_create("position")
            stack.callback(os.close, position_fd)
            os.ftruncate(position_fd, POSITION.size)
            self._position = mmap.mmap(position_fd, POSITION.size)
            self._control, theirs = socket.socketpair()
            with theirs:
                fds = (theirs.fileno(), position_fd, question_fd)
                process = self._started(fds, folder)
            stack.callback(process.wait)
            stack.callback(self._control.close)
            stack.callback(self.end_worker)
            self._begin_fork()  # importing torch takes seconds, in which the caller may work
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def ask(self, method: str, *arguments: Any, hold: SharedHold | None = None) -> Any:
        """Return what a method of the worker returns; a worker is forked if there is none.

        With a ``hold`` on the device the worker stands still whenever somebody else measures.

        Raises:
            WorkerEnded: it crashed, or was killed because a step took too long.
            DeviceError: no worker can be started.
        """
        if self._channel is None:
            self._fork(hold)
        assert self._channel is not None
        self._channel.send((method, *arguments))
        return self._answer(self._step_limit_s, hold)

    def _begin_fork(self) -> None:
        self._is_forking = True
        POSITION.pack_into(self._position, 0, 0, 0)
        with contextlib.suppress(OSError):  # the answer says why
            self._control.send(b"1")

    def _fork(self, hold: SharedHold | None) -> None:
        if not self._is_forking:
            self._begin_fork()
        self._is_forking = False
        try:
            self._control.settimeout(START_LIMIT_S)
            said, fds, *_ = socket.recv_fds(self._control, struct.calcsize("q"), 1)
            (self._pid,) = struct.unpack("q", said)
            self._channel = Connection(fds[0])
            self._answer(START_LIMIT_S, hold)
        except (OSError, struct.error, WorkerEnded) as error:
            raise DeviceError(
                "the tuner's process does not start",
                seen=f"{type(error).__name__}: {error}; {self._last_words()}"[:500],
                do="run `kernelwright doctor`, and report this",
            ) from error

    def _answer(self, limit_s: float, hold: SharedHold | None) -> Any:
        """Wait for an answer, as long as the worker goes from step to step."""
        assert self._channel is not None
        at, since_s = self._at(), time.monotonic()
        try:
            while not self._channel.poll(POLL_S):
                if hold is not None and hold.is_wanted():
                    os.killpg(self._pid, signal.SIGSTOP)
                    since_s += hold.step_aside(self._pid)
                    os.killpg(self._pid, signal.SIGCONT)
                if self._at() != at:
                    at, since_s = self._at(), time.monotonic()
                elif time.monotonic() - since_s > limit_s:
                    self.end_worker()
                    detail = f"a step took longer than {limit_s:.0f} s"
                    raise WorkerEnded(at[0], detail, is_late=True)
            return self._channel.recv()
        except (EOFError, OSError):
            self.end_worker()
            raise WorkerEnded(self._at()[0], "its process ended", is_late=False) from None

    def _at(self) -> tuple[int, int]:
        number, step = POSITION.unpack_from(self._position, 0)
        return number, step

    def end_worker(self) -> None:
        """Kill the worker with its compilers; the supervisor takes note when it is asked next."""
        if self._channel is not None:
            self._channel.close()
            self._channel = None
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._pid, signal.SIGKILL)

    def _started(self, fds: tuple[int, ...], folder: str) -> subprocess.Popen[bytes]:
        extra = {"PYTHONPATH": os.pathsep.join(p for p in sys.path if os.path.isabs(p))}
        environment = isolation.child_environment(
            {**self._variables, **extra}, scratch=folder, threads=self._question.threads
        )
        arguments = [str(fd) for fd in fds]
        module = "kernelwright.tuner.supervisor"
        return subprocess.Popen(
            [sys.executable, "-P", "-m", module, *arguments, self._question.device],
            env=environment,
            pass_fds=fds,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._words,
            cwd="/",
            start_new_session=True,
        )

    def _last_words(self) -> str:
        """Return the end of what the program wrote to its standard error."""
        self._words.seek(0)
        return self._words.read()[-300:].decode(errors="replace")
