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

import torch

from kernelwright.tuner.builder import remember_tritons_version, serve_builds
from kernelwright.tuner.question import read_from_memory
from kernelwright.tuner.worker import POSITION, Position, serve

WORKER, BUILDER = b"w", b"b"
"""The requests: which process to fork in place of the last of its kind."""
READY = b"r"
"""The word of a worker that has started its device."""


def supervise(control: socket.socket, position_fd: int, architecture: str) -> None:
    """Fork a process at every request, and send its number and its channel; end with the parent.

    ``architecture`` is the GPU's, such as sm_90, or empty.
    """
    pids: dict[bytes, int] = {}
    if architecture:
        remember_tritons_version()
    while kind := control.recv(1):
        if kind in pids:
            _kill(pids[kind])
        ours, theirs = socket.socketpair()
        pids[kind] = os.fork()
        if pids[kind] == 0:
            control.close()
            ours.close()
            os.setsid()  # its compilers are stopped and killed with it
            if kind == BUILDER:
                build(theirs, architecture)
            else:
                memory = mmap.mmap(position_fd, POSITION.size)
                work(theirs, Position(memory), "cuda:0" if architecture else "cpu")
            return
        theirs.close()
        socket.send_fds(control, [struct.pack("q", pids[kind])], [ours.fileno()])
        ours.close()
    for pid in pids.values():
        _kill(pid)


def build(channel: socket.socket, architecture: str) -> None:
    """Compile ahead, once the question is there."""
    question = read_from_memory(_received(channel), "cpu")
    with Connection(channel.detach()) as connection:
        serve_builds(connection, question, architecture)


def work(channel: socket.socket, position: Position, device: str) -> None:
    """Load and time candidates, once the question is there. The device starts before that."""
    torch.zeros(1, device=device)
    channel.sendall(READY)
    question = read_from_memory(_received(channel), device)
    with Connection(channel.detach()) as connection:
        serve(connection, question, position)


def _received(channel: socket.socket) -> list[int]:
    """Wait for the descriptors of the question; end if the other side hangs up."""
    said, fds, *_ = socket.recv_fds(channel, 1, 2)
    if not said:
        os._exit(0)
    return list(fds)


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


if __name__ == "__main__":
    control_fd, position_fd, architecture = sys.argv[1:]
    with socket.socket(fileno=int(control_fd)) as control:
        supervise(control, int(position_fd), architecture)
