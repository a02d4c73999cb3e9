"""Lets the library's compiler work on several kernels of one module at a time.

Inductor compiles one kernel after the other where it may use one thread only. A DenseNet of 121
layers has 184 different kernels on a GPU, and each takes a second of a core: nothing can be judged
until all are compiled, for the library's fastest setting has to be known.

Source:
    torch/_inductor/async_compile.py of torch 2.11 and 2.13: g++ runs in threads; Triton runs in
    processes that a program of Inductor's own forks, which has not used the GPU.
"""

from __future__ import annotations

import os

import torch

NICENESS = 5
"""Compilers leave the processor to what is timed, as those of candidates do."""


def compile_side_by_side(n: int, device: torch.device) -> None:
    """Let Inductor compile ``n`` kernels at a time from now on in this process.

    Where its program cannot be started it compiles one after the other, as it does until the
    program stands ready.
    """
    from torch._inductor import config
    from torch._inductor.async_compile import AsyncCompile

    def end(ready: object) -> None:
        if ready.exception() is not None:  # type: ignore[attr-defined]
            config.compile_threads = 1

    config.compile_threads = n
    if n == 1 or device.type == "cpu":
        return
    try:
        pool = AsyncCompile.process_pool()
        os.setpriority(os.PRIO_PROCESS, pool.process.pid, NICENESS)  # type: ignore[union-attr]
        AsyncCompile.use_process_pool()
        AsyncCompile._ready_future.add_done_callback(end)  # type: ignore[union-attr]
    except Exception:  # its names are Inductor's own, which change
        config.compile_threads = 1
