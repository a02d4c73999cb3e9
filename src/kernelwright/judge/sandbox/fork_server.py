"""The judge's side of its fork servers.

A fork server is a process that has imported torch and forks isolated children on request. A judge
on its own starts one as a program: importing torch takes two to four seconds, and every child that
compiles imports torch's compilers anew, five seconds and more. Where many judges run, a shared fork
server has imported torch and its compilers once, and forks one fork server for each of them.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import secrets
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil

from kernelwright.core.errors import DeviceError
from kernelwright.judge.sandbox import isolation, protocol
from kernelwright.judge.sandbox.child import Child
from kernelwright.judge.sandbox.isolation import NO_OPTIONS, ChildOptions
from kernelwright.judge.sandbox.scratch import Scratch

START_TIMEOUT_S = 120.0  # importing torch from a cold disk on a loaded machine took 40 s
FIRST_UID = 1_200_000_000  # beyond what distributions and container runtimes hand out
WARM = "--warm"
CACHE_MANAGER = "kernelwright.judge.sandbox.ready_builds:ReadyBuilds"
READ_AT_IMPORT = {"TRITON_INTERPRET"}
"""Variables that libraries read when they are imported. A shared fork server has imported them."""


def start_program(
    environment: Mapping[str, str], control: socket.socket, *, warm: bool = False
) -> subprocess.Popen[bytes]:
    """Start ``fork_server_main.py`` with ``environment`` alone; it answers on ``control``."""
    paths = [p for p in sys.path if p and os.path.isabs(p)]
    package = str(Path(__file__).resolve().parents[3])
    script = str(Path(__file__).with_name("fork_server_main.py"))
    options = [WARM] if warm else []
    command = [sys.executable, "-I", script, str(control.fileno()), *options, *paths, package]
    return subprocess.Popen(
        command,
        env=dict(environment),
        pass_fds=[control.fileno()],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        cwd="/",
        start_new_session=True,
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    with process:  # which closes its pipe and waits
        process.kill()


class SharedForkServer:
    """One end of a channel to a shared fork server; it can be sent to other processes."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._lock = threading.Lock()

    def __getstate__(self) -> socket.socket:
        return self._control

    def __setstate__(self, control: socket.socket) -> None:
        self.__init__(control)  # type: ignore[misc]

    def serve(self, environment: Mapping[str, str], control: socket.socket) -> bool:
        """Have a new fork server answer on the other end of ``control``, with this environment and
        the caller's cores, as if it had been started here.

        Returns:
            False where the shared fork server has gone.
        """
        return self._ask({"environment": dict(environment)}, (control.fileno(),))

    def run(
        self,
        module: str,
        *arguments: str,
        environment: Mapping[str, str],
        words: int,
        fds: tuple[int, ...],
    ) -> bool:
        """Run a module of ours as a program that has imported torch already, in a session of its
        own. Its first arguments are the numbers that ``fds`` have there; ``words`` is the
        descriptor of its standard error. It is to end when a channel among them is closed.

        Returns:
            False where the shared fork server has gone.
        """
        request = {"environment": dict(environment), "program": [module, *arguments]}
        return self._ask(request, (words, *fds))

    def _ask(self, request: dict[str, Any], fds: tuple[int, ...]) -> bool:
        with self._lock, contextlib.suppress(protocol.Closed):
            request["cores"] = os.sched_getaffinity(0)
            protocol.send_request(self._control, request, fds)
            return True
        return False

    def branch(self) -> SharedForkServer:
        """A channel of its own, for another process."""
        ours, theirs = socket.socketpair()
        with theirs:
            self.serve(
                isolation.child_environment({}, scratch=isolation.SCRATCH, threads=1), theirs
            )
        return SharedForkServer(ours)

    def close(self) -> None:
        """Hang up. The process at the other end then ends, with everything it has forked."""
        self._control.close()


class SharedForkServerProcess:
    """The process behind a ``SharedForkServer``, for as long as the context lasts."""

    def __enter__(self) -> SharedForkServer:
        ours, theirs = socket.socketpair()
        environment = isolation.child_environment({}, scratch=isolation.SCRATCH, threads=1)
        with theirs:
            self._process = start_program(environment, theirs, warm=True)
        self._server = SharedForkServer(ours)
        return self._server

    def __exit__(self, *error: object) -> None:
        self._server.close()
        _end(self._process)


class ForkServer:
    """A process that has imported torch under one environment and forks isolated children.

    Raises:
        DeviceError: it does not start.
    """

    def __init__(
        self, extra: Mapping[str, str], *, threads: int, shared: SharedForkServer | None = None
    ) -> None:
        self.scratch = Scratch()
        self._counter = itertools.count()
        self.control, theirs = socket.socketpair()
        environment = isolation.child_environment(extra, scratch=isolation.SCRATCH, threads=threads)
        self.process: subprocess.Popen[bytes] | None = None
        with theirs:
            if shared is None or not shared.serve(environment, theirs):
                self.process = start_program(environment, theirs)
        self.pid: int | None = None
        """The parent of all children; known once it can fork."""
        self._lock = threading.Lock()

    def wait_ready(self) -> None:
        """Return when it can fork.

        Raises:
            DeviceError: it does not start.
        """
        if self.pid is not None:
            return
        try:
            deadline_s = time.monotonic() + START_TIMEOUT_S
            ready = protocol.receive_frame(self.control, deadline_s=deadline_s)
        except (protocol.Closed, protocol.Late) as error:
            seen = b""
            if self.process is not None:
                self.process.kill()
                _, seen = self.process.communicate()
            raise DeviceError(
                "the judge's child process does not start",
                seen=seen.decode(errors="replace")[-500:] or type(error).__name__,
                do="run `kernelwright doctor`; check that torch imports in this Python",
            ) from error
        self.pid = protocol.parse_reply(ready)["ready"]

    def fork(self, options: ChildOptions = NO_OPTIONS) -> Child:
        """A new isolated child.

        Raises:
            DeviceError: none can be made.
        """
        with self._lock:
            self.wait_ready()
            scratch = os.path.join(self.scratch.path, str(next(self._counter)))
            os.mkdir(scratch)
        plan = _plan(options, scratch)
        if options.ready:
            plan = with_ready_builds(plan, Path(f"{scratch}-ready"))
        worker, worker_end = socket.socketpair()
        supervisor, supervisor_end = socket.socketpair()
        completion, completion_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        worker.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        with worker_end, completion_end, supervisor_end:
            fds = (worker_end.fileno(), completion_end.fileno(), supervisor_end.fileno())
            with self._lock:
                protocol.send_request(self.control, plan, fds)
        try:
            # On equal terms: the library's processes copy their outputs where candidates' have to.
            may_read = isolation.reads_all(FIRST_UID)
            return Child(worker, completion, supervisor, may_read=may_read)
        except (protocol.Closed, protocol.Late, protocol.Garbled, OSError) as error:
            raise DeviceError(
                "no isolated process can be made",
                seen=str(error) or repr(error),
                do="see `kernelwright doctor` for what this machine grants; free memory or disk",
            ) from error

    def close(self) -> None:
        """End it and all of its children, and remove their scratch folders."""
        self.control.close()  # it ends then; its children die with it, and theirs with them
        if self.process is not None:
            _end(self.process)
        with self._lock:  # a thread that forks just now would put another folder into it
            self.scratch.close()


def with_ready_builds(plan: isolation.Plan, folder: Path) -> isolation.Plan:
    """The plan with copies of the compiled kernels, which every user may read: without them a child
    that sees the whole file system would have to stay this user."""
    folder.mkdir()
    for entry in plan.options.ready:
        if entry.is_dir():
            shutil.copytree(entry, folder / entry.name, copy_function=shutil.copyfile)
        else:
            shutil.copyfile(entry, folder / entry.name)
    for at in (folder, *folder.rglob("*")):
        at.chmod(0o755 if at.is_dir() else 0o644)
    given = {isolation.READY_BUILDS: str(folder), "TRITON_CACHE_MANAGER": CACHE_MANAGER}
    options = replace(plan.options, variables={**plan.options.variables, **given})
    return replace(plan, visible=(*plan.visible, str(folder)), options=options)


def _plan(options: ChildOptions, folder: str) -> isolation.Plan:
    # A child that has a cache is trusted and stays this user, who owns what it keeps there. The
    # settings of several judges together have more threads than a candidate should.
    is_trusted = options.cache is not None
    uid = os.geteuid() if is_trusted else FIRST_UID + secrets.randbelow(100_000_000)
    if not is_trusted and isolation.can_become(uid):
        os.chown(folder, uid, uid)
    return isolation.Plan(
        folder,
        uid,
        int(psutil.virtual_memory().available * options.memory_share),
        n_processes=None if is_trusted else isolation.most_processes(uid),
        visible=isolation.visible_folders(),
        options=options,
    )
