"""The zygote: a process that has imported torch and forks an isolated child on request.

Run as ``python -I zygote.py FD [--warm] PATH...``: FD is the control socket, the PATHs become
``sys.path``; with ``--warm`` it imports torch's compilers too, and is asked for further zygotes.
It is trusted and runs no candidate's code. Three processes exist per child: a doorkeeper, which
enters the namespaces; a warden, the first process inside and the root of the child's process
tree; and the worker, which runs the candidate. When the zygote ends, all of them end.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import socket
import sys

WARM = ("torch._dynamo", "torch._inductor.compile_fx", "torch._inductor.codegen.triton")
"""What torch.compile imports when it is first called."""
NEEDS_TRITON = ("triton.language", "triton.compiler", "torch._inductor.runtime.triton_heuristics")


def main() -> None:
    """Serve requests until the judge closes the control socket."""
    control = socket.socket(fileno=int(sys.argv[1]))
    is_warm = sys.argv[2] == "--warm"
    sys.path[:] = sys.argv[2 + is_warm :]
    if is_warm:
        _import_compilers()
        if _has_touched_a_gpu():  # children could not use it: start anew without
            os.set_inheritable(control.fileno(), True)
            command = [sys.executable, "-I", __file__, sys.argv[1], *sys.argv[3:]]
            os.execv(sys.executable, command)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    serve(control)


def serve(control: socket.socket) -> None:
    """Fork a child for every plan, and another zygote for every environment to serve."""
    from kernelwright.judge.children import warden, wire
    from kernelwright.judge.isolation import namespaces

    wire.send_reply(control, {"ready": os.getpid()})
    while True:
        try:
            request, fds = wire.receive_request(control)
        except wire.Closed:
            os._exit(0)
        if not isinstance(request, dict):
            request = namespaces.attainable(request)
        if os.fork() == 0:
            control.close()
            if isinstance(request, dict):
                os.environ.clear()
                os.environ.update(request["serve"])
                os.sched_setaffinity(0, request["cores"])
                # Nobody reads that pipe once the first is ready: full, it would hold who writes.
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
                serve(socket.socket(fileno=fds[0]))
            os.environ.update(request.variables)
            warden.open_door(request, *fds)
        for fd in fds:
            os.close(fd)


def _import_compilers() -> None:
    """A fork has what its parent has imported; whatever is missing here is imported later."""
    for name in (*WARM, *NEEDS_TRITON):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


def _has_touched_a_gpu() -> bool:
    """Whether a driver was opened in this process: it does not outlive a fork."""
    opened = (os.path.join("/proc/self/fd", name) for name in os.listdir("/proc/self/fd"))
    targets = (os.readlink(path) for path in opened if os.path.islink(path))
    return any(target.startswith(("/dev/nvidia", "/dev/kfd")) for target in targets)


if __name__ == "__main__":
    main()
