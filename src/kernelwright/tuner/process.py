"""The search's side of the tuner's program: workers that may crash or hang at any candidate."""

from __future__ import annotations

import contextlib
import mmap
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from kernelwright.core import plugins
from kernelwright.core.candidate import Candidate
from kernelwright.core.errors import DeviceError
from kernelwright.judge import Judge, SharedForkServer
from kernelwright.judge.devices.backend import DeviceBackend
from kernelwright.judge.sandbox import isolation
from kernelwright.judge.sandbox.fork_server import READ_AT_IMPORT
from kernelwright.judge.scheduling.device_lock import DeviceLock, SharedHold
from kernelwright.tuner.builder import Ahead, entries_of, library_of
from kernelwright.tuner.question import Question, SharedQuestion
from kernelwright.tuner.supervisor import BUILDER, READY, WORKER
from kernelwright.tuner.worker import POSITION

ONE_QUEUE = {"CUDA_DEVICE_MAX_CONNECTIONS": "1"}
"""Our own candidates use one stream. A context with one connection to the GPU is made in a third of
the time where many are made at once, on an H200 (benchmarks/context_rate.py)."""
PROGRAM = "kernelwright.tuner.supervisor"
START_LIMIT_S = 120.0
"""Longest time in seconds until a worker stands ready; a cold disk takes 40 s to import torch."""
STEP_LIMIT_S = 40.0
"""Longest time in seconds of one step: a call, or the build and the first calls of one
candidate."""
END_LIMIT_S = 5.0
"""Longest time in seconds from the end of a process's channel to its own."""
POLL_S = 0.05


class WorkerEnded(Exception):
    """A worker crashed or was killed, while the candidate of this number ran."""

    def __init__(self, number: int, detail: str, *, is_late: bool) -> None:
        self.number, self.is_late = number, is_late
        super().__init__(detail)


class BuilderEnded(Exception):
    """The process that compiles ahead ended by itself, or did not start."""


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
        fork_server: SharedForkServer | None = None,
        backend: DeviceBackend | None = None,
    ) -> None:
        """``variables``: the environment variables that the device and the dialects want.
        ``architecture``: the GPU's, such as sm_90; empty on a CPU. ``fork_server``: one that has
        imported torch. ``backend``: the device of the question's tensors; None: the CPU."""
        self._variables, self._threads = variables, threads
        self._fork_server = None if READ_AT_IMPORT & variables.keys() else fork_server
        self.architecture, self._step_limit_s = architecture, step_limit_s
        self._backend = backend
        self.is_ours_only = True
        """False as soon as workers run text that our own code has not written."""
        self._question: SharedQuestion | None = None
        self._warming: threading.Thread | None = None
        self._socket: socket.socket | None = None
        """The channel of a worker that has no question yet."""
        self._channel: Connection | None = None
        self._pid = 0
        self._builds: Connection | None = None
        self._builder_pid, self._builder_fault = 0, ""
        self._is_builder_killed = False
        self._forking = threading.Lock()
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> TunerProcess:
        with contextlib.ExitStack() as stack:
            self._words = stack.enter_context(tempfile.TemporaryFile())
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="kernelwright-tuner-"))
            position_fd = os.memfd_create("position")
            stack.callback(os.close, position_fd)
            os.ftruncate(position_fd, POSITION.size)
            self._folder = Path(folder)
            self._triton_cache = Path(self._variables.get("TRITON_CACHE_DIR", folder))
            self._position = mmap.mmap(position_fd, POSITION.size)
            self._control, theirs = socket.socketpair()
            with theirs:
                process = self._started((theirs.fileno(), position_fd), folder)
            if process is not None:
                stack.callback(process.wait)
            stack.callback(self._control.close)
            stack.callback(self._forget)
            stack.callback(self.end_worker)
            stack.callback(self._end_warming)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    @property
    def has_question(self) -> bool:
        """Whether it knows what the candidates are tried on."""
        return self._question is not None

    def give(self, question: Question) -> None:
        """Say what the candidates are tried on.

        Raises:
            DeviceError: it does not fit into memory.
        """
        self._end_warming()
        self._question = SharedQuestion(question, self._backend)

    def warm_up_beside(self, lock: DeviceLock) -> None:
        """Warm up a worker for a GPU in a thread, until the question is given: a context takes a
        second where many are made."""

        def work() -> None:
            with contextlib.suppress(DeviceError), lock.shared() as hold:  # the start says why
                self.warm_up(hold)

        if self.architecture:
            self._warming = threading.Thread(target=work, daemon=True)
            self._warming.start()

    def _end_warming(self) -> None:
        if self._warming is not None:
            self._warming.join()
            self._warming = None

    def warm_up(self, hold: SharedHold | None) -> None:
        """Fork a worker if there is none, and wait until it has started the device; no question is
        needed for that.

        Raises:
            DeviceError: none can be started.
        """
        if self._socket is not None or self._channel is not None:
            return
        POSITION.pack_into(self._position, 0, 0, 0)
        with self._explained():
            self._pid, self._socket = self._forked(WORKER)
            self._wait(self._socket, START_LIMIT_S, hold)
            if not self._socket.recv(1):
                raise EOFError("the worker ended")

    def start(self, hold: SharedHold | None = None) -> None:
        """Start a worker if there is none, and wait until it stands ready for candidates.

        Raises:
            DeviceError: none can be started.
        """
        if self._channel is not None:
            return
        self.warm_up(hold)
        assert self._socket is not None and self._question is not None
        with self._explained():
            socket.send_fds(self._socket, [READY], self._question.fds)
            self._channel, self._socket = Connection(self._socket.detach()), None
            self._answer(START_LIMIT_S, hold)

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        """Say that the worker does not start where that fails in this context."""
        try:
            yield
        except (OSError, EOFError, struct.error, WorkerEnded) as error:
            self.end_worker()
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

    def build(self, sources: Sequence[tuple[str, str, str]]) -> None:
        """Begin to compile sources, each with its name and entry, side by side.

        Another thread may ``ask`` meanwhile, or end the builds. The worker compiles what is not
        compiled then.
        """
        if self._builds is None:
            assert self._question is not None  # it was given
            self._is_builder_killed = False
            try:
                self._builder_pid, channel = self._forked(BUILDER)
                socket.send_fds(channel, [READY], self._question.fds)
            except (OSError, struct.error) as error:
                self._builder_fault = f"{type(error).__name__}: {error}"
                return
            self._builds = Connection(channel.detach())
        with contextlib.suppress(OSError):  # it has ended, which `built` finds
            self._builds.send(list(sources))

    def built(self, timeout_s: float) -> list[Ahead] | None:
        """Return what came of sources whose builds have ended since the last call; wait for one at
        most so many seconds. None if nothing is built any more.

        Raises:
            BuilderEnded: and nobody has ended it; told once.
        """
        done: list[Ahead] = []
        try:
            while self._builds is not None and self._builds.poll(0 if done else timeout_s):
                done.append(self._builds.recv())
        except (OSError, EOFError):
            self._builds = None
            if not self._is_builder_killed:
                _wait_for_end(self._builder_pid)
                self._builder_fault = f"its process ended: {self._last_words()}"
        if done or self._builds is not None:
            return done
        fault, self._builder_fault = self._builder_fault, ""
        if fault:
            raise BuilderEnded(fault)
        return None

    def ready_builds(self, candidate: Candidate) -> Sequence[Path]:
        """Return what a candidate was compiled to where nobody else's candidates run: folders of
        Triton's cache, or the library of one in C++."""
        if candidate.dialect == "cpp":
            return library_of(self._folder, candidate.source) if self.is_ours_only else []
        return entries_of(self._triton_cache, candidate.source)

    def end_builds(self) -> None:
        """Kill the process that builds ahead, if there is one."""
        if self._builds is not None:
            self._is_builder_killed = True
            _kill(self._builder_pid)

    def end_worker(self) -> None:
        """Kill the worker with its compilers; the next request starts another."""
        if self._channel is not None or self._socket is not None:
            for channel in (self._channel, self._socket):
                if channel is not None:
                    channel.close()
            self._channel = self._socket = None
            _kill(self._pid)

    def give_memory_back(self) -> None:
        """End the worker, and forget a question that holds memory of a GPU."""
        self.end_worker()
        if self._question is not None and self._question.is_on_device:
            self._forget()

    def _forget(self) -> None:
        if self._question is not None:
            self._question.close()
            self._question = None

    def _forked(self, kind: bytes) -> tuple[int, socket.socket]:
        """Return the number and the channel of a new process."""
        with self._forking:
            self._control.settimeout(START_LIMIT_S)
            self._control.sendall(kind)
            said, fds, *_ = socket.recv_fds(self._control, struct.calcsize("q"), 1)
            (pid,) = struct.unpack("q", said)
            return pid, socket.socket(fileno=fds[0])

    def _answer(self, limit_s: float, hold: SharedHold | None) -> Any:
        """Wait for an answer, as long as the worker goes from step to step."""
        assert self._channel is not None
        try:
            self._wait(self._channel, limit_s, hold)
            return self._channel.recv()
        except (EOFError, OSError):
            self.end_worker()
            raise WorkerEnded(self._at()[0], "its process ended", is_late=False) from None

    def _wait(
        self, channel: Connection | socket.socket, limit_s: float, hold: SharedHold | None
    ) -> None:
        """Return when something comes on a worker's channel, or its end."""
        at, since_s = self._at(), time.monotonic()
        while not select.select([channel], [], [], POLL_S)[0]:
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

    def _at(self) -> tuple[int, int]:
        number, step = POSITION.unpack_from(self._position, 0)
        return number, step

    def _started(self, fds: tuple[int, ...], folder: str) -> subprocess.Popen[bytes] | None:
        """Start the program; None if the fork server has started it."""
        environment = isolation.child_environment(
            self._variables, scratch=folder, threads=self._threads
        )
        words = self._words.fileno()
        if self._fork_server is not None and self._fork_server.run(
            PROGRAM, self.architecture, environment=environment, words=words, fds=fds
        ):
            return None
        path = os.pathsep.join(p for p in sys.path if os.path.isabs(p))
        return subprocess.Popen(
            [sys.executable, "-P", "-m", PROGRAM, *map(str, fds), self.architecture],
            env=environment | {"PYTHONPATH": path},
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


def process_for(
    judge: Judge, dialects: Sequence[str], fork_server: SharedForkServer | None = None
) -> TunerProcess:
    """Return the process for a judge's device and for these dialects; the judge may open later."""
    variables = dict(judge.machine.backend.visibility)
    for name in dialects:
        variables |= plugins.find("kernelwright.dialects", name).environment(judge.device)
    architecture = judge.device.arch if judge.device.kind == "cuda" else ""
    if architecture:
        variables |= ONE_QUEUE
    return TunerProcess(
        variables,
        threads=judge.threads,
        architecture=architecture,
        fork_server=fork_server,
        backend=judge.machine.backend,
    )


def _wait_for_end(pid: int) -> None:
    """Wait until a process that has closed its channel has said why, and ended."""
    with contextlib.suppress(ProcessLookupError):
        pidfd = os.pidfd_open(pid)
        try:
            select.select([pidfd], [], [], END_LIMIT_S)
        finally:
            os.close(pidfd)


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
