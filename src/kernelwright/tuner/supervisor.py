"""The tuner's program: a supervisor that has imported torch, and forks one worker at a time.

If a candidate crashes its worker or hangs, only that worker ends, and the supervisor forks the next
one in milliseconds. ``process.py`` is the other side.
"""

from __future__ import annotations

import mmap
import os
import signal
import socket
import struct
import sys
from multiprocessing.connection import Connection

from kernelwright.tuner.worker import POSITION, Position, serve


def supervise(control: socket.socket, position_fd: int, question_fd: int, device: str) -> None:
    """Fork a worker at every request, and send its number and its channel; end with the parent.

    The parent asks again when the last worker has ended.
    """
    pid = 0
    while control.recv(1):
        if pid:
            os.waitpid(pid, 0)
        ours, theirs = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            control.close()
            ours.close()
            os.setsid()  # its compilers are stopped and killed with it
            with Connection(theirs.detach()) as channel:
                memory = mmap.mmap(position_fd, POSITION.size)
                serve(channel, question_fd, device, Position(memory))
            return
        theirs.close()
        socket.send_fds(control, [struct.pack("q", pid)], [ours.fileno()])
        ours.close()
    if pid:
        os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


if __name__ == "__main__":
    control_fd, position_fd, question_fd, device = sys.argv[1:]
    with socket.socket(fileno=int(control_fd)) as control:
        supervise(control, int(position_fd), int(question_fd), device)
