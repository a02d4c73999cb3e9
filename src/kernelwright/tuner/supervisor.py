"""The tuner's program: a supervisor that has imported torch, and forks one worker at a time.

If a candidate crashes its worker or hangs, only that worker ends, and the supervisor forks the next
one in milliseconds. For a GPU it also forks the process that compiles ahead. ``process.py`` is the
other side.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import signal
import socket
import struct
import sys
from multiprocessing.connection import Connection

from kernelwright.tuner.builder import remember_tritons_version, serve_builds
from kernelwright.tuner.question import read_from_memory
from kernelwright.tuner.worker import POSITION, Position, serve

WORKER, BUILDER = b"w", b"b"
"""The requests: which process to fork in place of the last of its kind."""


def supervise(control: socket.socket, position_fd: int, architecture: str) -> None:
    """Fork a process at every request, and send its number and its channel; end with the parent.

    With a request comes the memory that holds the question. ``architecture`` is the GPU's, such as
    sm_90, or empty.
    """
    pids: dict[bytes, int] = {}
    if architecture:
        remember_tritons_version()
    while True:
        kind, fds, *_ = socket.recv_fds(control, 1, 1)
        if not kind:
            break
        [question_fd] = fds
        if kind in pids:
            _kill(pids[kind])
        ours, theirs = socket.socketpair()
        pids[kind] = os.fork()
        if pids[kind] == 0:
            control.close()
            ours.close()
            os.setsid()  # its compilers are stopped and killed with it
            with Connection(theirs.detach()) as channel:
                if kind == BUILDER:
                    serve_builds(channel, read_from_memory(question_fd, "cpu"), architecture)
                else:
                    memory = mmap.mmap(position_fd, POSITION.size)
                    device = "cuda:0" if architecture else "cpu"
                    serve(channel, read_from_memory(question_fd, device), Position(memory))
            return
        os.close(question_fd)
        theirs.close()
        socket.send_fds(control, [struct.pack("q", pids[kind])], [ours.fileno()])
        ours.close()
    for pid in pids.values():
        _kill(pid)


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


if __name__ == "__main__":
    control_fd, position_fd, architecture = sys.argv[1:]
    with socket.socket(fileno=int(control_fd)) as control:
        supervise(control, int(position_fd), architecture)
