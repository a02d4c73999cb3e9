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
import threading
import time
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from typing import Any

from kernelwright.core import plugins
from kernelwright.core.errors import DeviceError
from kernelwright.judge import Judge
from kernelwright.judge.sandbox import isolation
from kernelwright.judge.scheduling.device_lock import SharedHold
from kernelwright.tuner.question import Question, put_in_memory
from kernelwright.tuner.supervisor import BUILDER, WORKER
from kernelwright.tuner.worker import POSITION

START_LIMIT_S = 120.0
"""Longest time in seconds until a worker stands ready; a cold disk takes 40 s to import torch."""
STEP_LIMIT_S = 40.0
"""Longest time in seconds of one step: a call, or the build and the first calls of one
candidate."""
POLL_S = 0.05


class WorkerEnded(Exception):
    """A worker crashed or was killed, while the candidate of this number ran."""

    def __init__(self, number: int, detail: str, *, is_late: bool) -> None:
        self.number, self.is_late = number, is_late
        super().__init__(detail)


class TunerProcess:
    """The tuner's program with its current worker; a context manager that ends all of it.

    It imports torch, which takes seconds, before there is a question.
    """

    def __init__(
        self,
        variables: Mapping[str, str],
        *,
        threads: int,
        architecture: str = "",
        step_limit_s: float = STEP_LIMIT_S,
    ) -> None:
        """``variables``: the environment variables that the device and the dialects want.
        ``architecture``: the GPU's, such as sm_90; empty on a CPU."""
        self._variables, self._threads = variables, threads
        self.architecture, self._step_limit_s = architecture, step_limit_s
        self._question_fd = -1
        self._channel: Connection | None = None
        self._pid = 0
        self._builds: Connection | None = None
        self._builder_pid = 0
        self._forking = threading.Lock()
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> TunerProcess:
        with contextlib.ExitStack() as stack:
            self._words = stack.enter_context(tempfile.TemporaryFile())
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="kernelwright-tuner-"))
            position_fd = os.memfd_create("position")
            stack.callback(os.close, position_fd)
            os.ftruncate(position_fd, POSITION.size)
            self._position = mmap.mmap(position_fd, POSITION.size)
            self._control, theirs = socket.socketpair()
            with theirs:
                process = self._started((theirs.fileno(), position_fd), folder)
            stack.callback(process.wait)
            stack.callback(self._control.close)
            stack.callback(self.end_worker)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def give(self, question: Question) -> None:
        """Say what the candidates are tried on.

        Raises:
            DeviceError: it does not fit into memory.
        """
        self._question_fd = put_in_memory(question)
        self._stack.callback(os.close, self._question_fd)

    def start(self, hold: SharedHold | None = None) -> None:
        """Fork a worker if there is none, and wait until it stands ready.

        Raises:
            DeviceError: none can be started.
        """
        if self._channel is not None:
            return
        POSITION.pack_into(self._position, 0, 0, 0)
        try:
            self._pid, self._channel = self._forked(WORKER)
            self._answer(START_LIMIT_S, hold)
        except (OSError, struct.error, WorkerEnded) as error:
            raise DeviceError(
                "the tuner's process does not start",
                seen=f"{type(error).__name__}: {error}; {self._last_words()}"[:500],
                do="run `kernelwright doctor`, and report this",
            ) from error

    def ask(self, method: str, *arguments: Any, hold: SharedHold | None = None) -> Any:
        """Return what a method of the worker returns; a worker is started if there is none.

        With a ``hold`` on the device the worker stands still whenever somebody else measures.

        Raises:
            WorkerEnded: it crashed, or was killed because a step took too long.
            DeviceError: no worker can be started.
        """
        self.start(hold)
        assert self._channel is not None
        self._channel.send((method, *arguments))
        return self._answer(self._step_limit_s, hold)

    def build_ahead(self, sources: Sequence[tuple[str, str]]) -> int:
        """Compile sources, each with its entry, side by side, and return how many were compiled.

        Another thread may ``ask`` meanwhile, or end the builds. The worker compiles what is not
        compiled now.
        """
        try:
            if self._builds is None:
                self._builder_pid, self._builds = self._forked(BUILDER)
            self._builds.send(list(sources))
            return int(self._builds.recv())
        except (OSError, EOFError, struct.error):
            self._builds = None
            return 0

    def end_builds(self) -> None:
        """Kill the process that builds ahead, if there is one."""
        if self._builds is not None:
            _kill(self._builder_pid)

    def end_worker(self) -> None:
        """Kill the worker with its compilers; the next request starts another."""
        if self._channel is not None:
            self._channel.close()
            self._channel = None
            _kill(self._pid)

    def _forked(self, kind: bytes) -> tuple[int, Connection]:
        """Return the number and the channel of a new process."""
        with self._forking:
            self._control.settimeout(START_LIMIT_S)
            socket.send_fds(self._control, [kind], [self._question_fd])
            said, fds, *_ = socket.recv_fds(self._control, struct.calcsize("q"), 1)
            (pid,) = struct.unpack("q", said)
            return pid, Connection(fds[0])

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

    def _started(self, fds: tuple[int, ...], folder: str) -> subprocess.Popen[bytes]:
        extra = {"PYTHONPATH": os.pathsep.join(p for p in sys.path if os.path.isabs(p))}
        environment = isolation.child_environment(
            {**self._variables, **extra}, scratch=folder, threads=self._threads
        )
        arguments = [*map(str, fds), self.architecture]
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "kernelwright.tuner.supervisor", *arguments],
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


def process_for(judge: Judge, dialects: Sequence[str]) -> TunerProcess:
    """Return the process for a judge's device and for these dialects; the judge may open later."""
    variables = dict(judge.machine.backend.visibility)
    for name in dialects:
        variables |= plugins.find("kernelwright.dialects", name).environment(judge.device)
    architecture = judge.device.arch if judge.device.kind == "cuda" else ""
    return TunerProcess(variables, threads=judge.threads, architecture=architecture)


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
