"""How many CUDA contexts a host makes in a second.

    python benchmarks/context_rate.py

Needs an NVIDIA GPU. For 1, 6 and 12 processes that begin at once, with the usual eight connections
to the GPU (CUDA_DEVICE_MAX_CONNECTIONS) and with one: contexts a second, and the mean seconds that
one process waits for cuInit and for its context.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import statistics
import time
from typing import Any

AT_ONCE = (1, 6, 12)
CONNECTIONS = ("8", "1")


def make_context(barrier: Any, found: Any, n_connections: str) -> None:
    """Make one context; put the seconds of cuInit and of the context into the queue."""
    os.environ["CUDA_DEVICE_MAX_CONNECTIONS"] = n_connections
    cuda, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
    barrier.wait()
    start_s = time.monotonic()
    assert cuda.cuInit(0) == 0
    begun_s = time.monotonic()
    assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    found.put((begun_s - start_s, time.monotonic() - begun_s))
    barrier.wait()


def main() -> None:
    context = multiprocessing.get_context("fork")
    for n_connections in CONNECTIONS:
        for n_processes in AT_ONCE:
            barrier, found = context.Barrier(n_processes + 1), context.Queue()
            arguments = (barrier, found, n_connections)
            made = [
                context.Process(target=make_context, args=arguments) for _ in range(n_processes)
            ]
            for process in made:
                process.start()
            barrier.wait()
            start_s = time.monotonic()
            barrier.wait()
            took_s = time.monotonic() - start_s
            waits = [found.get() for _ in made]
            for process in made:
                process.join()
            begin_s, make_s = (statistics.fmean(one) for one in zip(*waits, strict=True))
            print(
                f"{n_connections} connections, {n_processes} at once: {n_processes / took_s:.1f} a "
                f"second, cuInit {begin_s:.2f} s, context {make_s:.2f} s"
            )


if __name__ == "__main__":
    main()
