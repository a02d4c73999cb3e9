"""The fork server: a process that has imported torch and forks an isolated child on request.

Run as ``python -I fork_server_main.py FD [--warm] PATH...``: FD is the control socket, the PATHs
become ``sys.path``; with ``--warm`` it imports torch's compilers too, and forks further fork
servers. It is trusted and runs no candidate's code. Each child consists of three processes: one
that enters the namespaces and waits; the supervisor, the first process inside and the root of the
child's process tree; and the worker, which runs the candidate. All end when the fork server ends.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import runpy
import select
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from typing import Any

COMPILERS = (
    "torch._dynamo",
    "torch._dynamo.backends.inductor",
    "torch._inductor.compile_fx",
    "torch._inductor.choices",
    "torch._inductor.codegen.triton",
    "torch._inductor.codegen.cuda_combined_scheduling",
    "torch._inductor.codegen.wrapper_fxir",
    "torch._inductor.fx_passes.freezing_patterns",
    "torch._inductor.fx_passes.fuse_attention",
    "torch.export._trace",
)
"""Modules that torch.compile imports when it is first called."""
NEEDS_TRITON = ("triton.language", "triton.compiler", "torch._inductor.runtime.triton_heuristics")

LOOK_MS = 100
"""Milliseconds between looks at whether imports are over."""
KEYS = (
    ("torch._inductor.codecache", "torch_key"),
    ("torch._inductor.runtime.triton_compat", "triton_key"),
)
"""Functions that read all of a compiler's files once a process, half a second of a core, to know
its version. Forks inherit what they remember."""


def main() -> None:
    """Serve requests until the judge closes the control socket."""
    control = socket.socket(fileno=int(sys.argv[1]))
    is_warm = sys.argv[2] == "--warm"
    sys.path[:] = sys.argv[2 + is_warm :]
    with _ended_with_the_judge(control):
        importlib.import_module("kernelwright.judge.sandbox.supervisor")
        if is_warm:
            _import_compilers()
    if is_warm and _has_touched_a_gpu():  # children could not use it: start anew without
        os.set_inheritable(control.fileno(), True)
        os.execv(sys.executable, [sys.executable, "-I", __file__, sys.argv[1], *sys.argv[3:]])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    gc.freeze()  # or a collection in a child would copy every page of what is imported here
    serve(control)


@contextlib.contextmanager
def _ended_with_the_judge(control: socket.socket) -> Iterator[None]:
    """End this process in the middle of its imports, which take seconds, if the judge is killed.

    No thread is left afterwards: a process forks safely only without.
    """
    is_over = threading.Event()

    def watch() -> None:
        watched = select.poll()
        watched.register(control, 0)  # an empty mask still reports a closed end
        while not is_over.is_set():
            if watched.poll(LOOK_MS):
                os._exit(0)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:  # an import that fails must end this process, which a thread would keep
        is_over.set()
        thread.join()


def serve(control: socket.socket) -> None:
    """Fork a child for every plan, another fork server for every environment to serve, and every
    program of ours to run."""
    from kernelwright.judge.sandbox import namespaces, protocol, supervisor

    protocol.send_reply(control, {"ready": os.getpid()})
    while True:
        try:
            request, fds = protocol.receive_request(control)
        except protocol.Closed:
            os._exit(0)
        if not isinstance(request, dict):
            request = namespaces.attainable(request)
        if os.fork() == 0:
            control.close()
            if isinstance(request, dict):
                os.environ.clear()
                os.environ.update(request["environment"])
                os.sched_setaffinity(0, request["cores"])
                if "program" in request:
                    _run(request["program"], fds)
                # Nobody reads that pipe once the first server is ready: a full one would block.
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
                serve(socket.socket(fileno=fds[0]))
            os.environ.update(request.options.variables)
            supervisor.enter_sandbox(request, *fds)
        for fd in fds:
            os.close(fd)


def _run(program: list[str], fds: list[int]) -> Any:
    """Run a module of ours as a program; its standard error is the first descriptor, and the
    numbers of the others are its first arguments."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    os.dup2(fds[0], 2)
    module, *arguments = program
    sys.argv[1:] = [*map(str, fds[1:]), *arguments]
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    finally:
        os._exit(0)


def _import_compilers() -> None:
    """Import torch's compilers, so that forks have them; a missing one is imported later."""
    with _driver_at_rest():
        for name in (*COMPILERS, *NEEDS_TRITON):
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
    for module, function in KEYS:
        with contextlib.suppress(Exception):  # of other versions; whoever needs it asks again
            getattr(importlib.import_module(module), function)()


@contextlib.contextmanager
def _driver_at_rest() -> Iterator[None]:
    """Have torch look for a GPU's device file instead of asking the driver, which then starts.

    Source:
        torch/_inductor/runtime/benchmarking.py of torch 2.11 asks when it is imported.
    """
    import torch

    asks_driver = torch.cuda.is_available
    torch.cuda.is_available = lambda: os.path.exists("/dev/nvidiactl")
    try:
        yield
    finally:
        torch.cuda.is_available = asks_driver


def _has_touched_a_gpu() -> bool:
    """True if this process has opened a GPU's driver, which does not survive a fork."""
    opened = (os.path.join("/proc/self/fd", name) for name in os.listdir("/proc/self/fd"))
    targets = (os.readlink(path) for path in opened if os.path.islink(path))
    return any(target.startswith(("/dev/nvidia", "/dev/kfd")) for target in targets)


if __name__ == "__main__":
    main()
