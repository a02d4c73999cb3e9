"""The zygote: a process that has imported torch and forks an isolated child on request.

Run as ``python -I zygote.py FD PATH...``: FD is the control socket, the PATHs become ``sys.path``.
It is trusted and runs no candidate's code. Three processes exist per child: a doorkeeper, which
enters the namespaces; a warden, the first process inside and the root of the child's process
tree; and the worker, which runs the candidate. When the zygote ends, all of them end.
"""

from __future__ import annotations

import os
import signal
import socket
import sys


def main() -> None:
    """Serve fork requests until the judge closes the control socket."""
    control = socket.socket(fileno=int(sys.argv[1]))
    sys.path[:] = sys.argv[2:]
    from kernelwright.judge import warden, wire

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    wire.send_reply(control, {"ready": os.getpid()})
    while True:
        try:
            plan, fds = wire.receive_request(control)
        except wire.Closed:
            os._exit(0)
        if os.fork() == 0:
            control.close()
            warden.open_door(plan, *fds)
        for fd in fds:
            os.close(fd)


if __name__ == "__main__":
    main()
