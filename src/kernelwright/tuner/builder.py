"""Compiles Triton kernels ahead, side by side, in processes that use no GPU.

A candidate's forward runs on tensors without memory, and each launch only compiles its kernel. What
comes of it lies in Triton's cache, where the worker finds it. A candidate that cannot be compiled
so is compiled by the worker.
"""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
from collections import deque
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, NoReturn

import torch

from kernelwright.compiler.codegen.gpu.replay import RUNNER
from kernelwright.judge.sandbox.layout import map_tensors
from kernelwright.tuner import modules
from kernelwright.tuner.question import Question

LIMIT_S = 60
"""Longest time in seconds for one candidate."""
NICENESS = 10
"""Builds leave the processor to what is timed."""


def serve_builds(channel: Connection, question: Question, architecture: str) -> None:
    """Compile the sources that come, each with its name and entry; answer with the name of each
    that is done, well or not. Ends when the other side hangs up."""
    torch.set_grad_enabled(False)
    os.nice(NICENESS)
    compile_without_gpu(int(architecture.removeprefix("sm_").rstrip("a")))
    meta = map_tensors(lambda tensor: tensor.to("meta"), question.arguments)
    n_jobs = max(1, len(os.sched_getaffinity(0)) - 2)
    waiting: deque[tuple[str, str, str]] = deque()
    running: dict[int, tuple[int, str]] = {}
    while True:
        for ready in wait([channel, *running]):
            if ready is channel:
                try:
                    waiting += channel.recv()
                except EOFError:
                    return
            elif isinstance(ready, int):
                pid, name = running.pop(ready)
                os.close(ready)
                os.waitpid(pid, 0)
                channel.send(name)
        while waiting and len(running) < n_jobs:
            name, source, entry = waiting.popleft()
            pid = os.fork()
            if pid == 0:
                _compile(source, entry, question, meta)
            running[os.pidfd_open(pid)] = pid, name


def compile_without_gpu(capability: int) -> None:
    """Let all launches of this process only compile their kernels, for GPUs of a compute
    capability such as 90."""
    from triton.backends.compiler import GPUTarget
    from triton.runtime import driver
    from triton.runtime.jit import KernelInterface

    driver.set_active(_NoGpu(GPUTarget("cuda", capability, 32)))

    def launcher(kernel: Any, grid: Any) -> Any:
        return lambda *arguments, **options: kernel.warmup(*arguments, grid=grid, **options)

    KernelInterface.__getitem__ = launcher


class _NoGpu:
    """The part of Triton's driver that compiling needs."""

    def __init__(self, target: Any) -> None:
        self._target = target

    def get_current_target(self) -> Any:
        return self._target

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: int) -> int:
        return 0


def compile_candidate(source: str, entry: str, question: Question, arguments: list[Any]) -> None:
    """Compile the kernels of a candidate; its forward gets ``arguments`` without memory.

    Raises:
        Exception: whatever its forward or the compiler raises.
    """
    with tempfile.TemporaryDirectory() as folder:
        names = modules.imported(source, "candidate_ahead", Path(folder))
        for kind in [value for value in names.values() if hasattr(value, "_launches_for")]:
            kind._launches_for = lambda module, *inputs: names["KernelLaunches"]
        if RUNNER in names:  # which would make a graph
            names[RUNNER] = lambda module, steps, inputs: steps(*inputs)
        with torch.device("meta"):
            module = names[entry](*question.initial)
            module(*arguments)


def _compile(source: str, entry: str, question: Question, arguments: list[Any]) -> NoReturn:
    """Compile a candidate in this process, and end it."""
    signal.alarm(LIMIT_S)
    with contextlib.suppress(BaseException):
        compile_candidate(source, entry, question, arguments)
    os._exit(0)
