"""A zygote for many judges: it has imported torch and its compilers once, and forks a zygote for
each judge, which forks children as any other does.

A judge on its own starts zygotes as programs: importing torch takes it two to four seconds, and
every child that compiles imports the compilers anew, five seconds and more.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

from kernelwright.judge.children import wire
from kernelwright.judge.isolation import sandbox

WARM = "--warm"
READ_AT_IMPORT = {"TRITON_INTERPRET"}
"""Variables that count when libraries are imported, which a nursery has done."""


def start_program(
    environment: Mapping[str, str], control: socket.socket, *, warm: bool = False
) -> subprocess.Popen[bytes]:
    """Start ``zygote.py`` with nothing of the user's but ``environment``; it serves ``control``."""
    paths = [p for p in sys.path if p and os.path.isabs(p)]
    package = str(Path(__file__).resolve().parents[3])
    script = str(Path(__file__).with_name("zygote.py"))
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


class Nursery:
    """One end of a channel to a zygote that makes zygotes; it travels to other processes."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._lock = threading.Lock()

    def __getstate__(self) -> socket.socket:
        return self._control

    def __setstate__(self, control: socket.socket) -> None:
        self.__init__(control)  # type: ignore[misc]

    def serve(self, environment: Mapping[str, str], control: socket.socket) -> bool:
        """Let a new zygote serve the other end of ``control``, with this environment and the
        cores of whoever asks, as if it had been started here.

        Returns:
            False where the nursery has gone.
        """
        with self._lock, contextlib.suppress(wire.Closed):
            request = {"serve": dict(environment), "cores": os.sched_getaffinity(0)}
            wire.send_request(self._control, request, (control.fileno(),))
            return True
        return False

    def branch(self) -> Nursery:
        """A channel of its own, for another process."""
        ours, theirs = socket.socketpair()
        with theirs:
            self.serve(sandbox.child_environment({}, scratch=sandbox.SCRATCH, threads=1), theirs)
        return Nursery(ours)

    def close(self) -> None:
        """Hang up: whoever serves the other end ends, with what it has forked."""
        self._control.close()


class WarmProgram:
    """The process behind a nursery, for as long as the context lasts."""

    def __enter__(self) -> Nursery:
        ours, theirs = socket.socketpair()
        environment = sandbox.child_environment({}, scratch=sandbox.SCRATCH, threads=1)
        with theirs:
            self._process = start_program(environment, theirs, warm=True)
        self._nursery = Nursery(ours)
        return self._nursery

    def __exit__(self, *error: object) -> None:
        self._nursery.close()
        self._process.kill()
        self._process.wait()
        self._process.stderr.close()
