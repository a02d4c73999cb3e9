"""What two processes on one GPU cost each other: a judge that writes inputs, a child that computes.

    python benchmarks/judge_contexts.py [--calls 40]

Needs an NVIDIA GPU. For each kind of call of a child, in microseconds, medians over the calls: what
the child itself says that it took when the judge left the GPU alone, and when it had written inputs
just before; then how long the judge waits for a kernel of its own after the child's answer. The
calls named 'unfinished' answer without waiting for what they have started.
"""

from __future__ import annotations

import argparse
import os
import socket
import statistics
import time
from collections.abc import Callable

from rich.console import Console
from rich.table import Table

INPUT_FLOATS = 1 << 25
PAUSE_S = 0.001


def calls() -> dict[str, Callable[[], object]]:
    """What the child can be asked for."""
    import torch

    one, wide = torch.zeros(1, device="cuda"), torch.zeros(8192, 8192, device="cuda")
    matrix, long = torch.ones(2048, 2048, device="cuda"), torch.zeros(1 << 29, device="cuda")
    out = torch.empty_like(wide)
    started: dict[str, Callable[[], object]] = {
        "one element": lambda: one.add_(1),
        "268 MB": lambda: torch.mul(wide, 2, out=out),
        "a product of 2048": lambda: torch.mm(matrix, matrix),
        "2 GB of GELU": lambda: torch.nn.functional.gelu(long),
    }

    def finished(start: Callable[[], object]) -> Callable[[], object]:
        return lambda: (start(), torch.cuda.synchronize())

    unfinished = {f"{name}, unfinished": started[name] for name in ("one element", "268 MB")}
    return {name: finished(start) for name, start in started.items()} | unfinished


def serve(judge: socket.socket) -> None:
    """The child: tell the names of its calls, make them, answer how many nanoseconds each took."""
    import torch

    known = calls()
    for call in (*known.values(), *known.values()):
        call()
    torch.cuda.synchronize()
    judge.send("\n".join(known).encode())
    while name := judge.recv(64).decode():
        start_ns = time.perf_counter_ns()
        known[name]()
        judge.send(str(time.perf_counter_ns() - start_ns).encode())
        torch.cuda.synchronize()


def measure(child: socket.socket, name: str, n_calls: int, *, writes: bool) -> tuple[float, float]:
    """(the child's own time, the judge's wait for its kernel afterwards), in microseconds."""
    import torch

    inputs, one = (torch.zeros(n, device="cuda") for n in (INPUT_FLOATS, 1))
    took_us, waited_us = [], []
    for _ in range(n_calls):
        if writes:
            inputs.add_(1)
            torch.cuda.synchronize()
        child.send(name.encode())
        took_us.append(int(child.recv(64)) / 1e3)
        if writes:
            start_ns = time.perf_counter_ns()
            one.add_(1)
            torch.cuda.synchronize()
            waited_us.append((time.perf_counter_ns() - start_ns) / 1e3)
        time.sleep(PAUSE_S)
    return statistics.median(took_us), statistics.median(waited_us or [0.0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=40)
    options = parser.parse_args()
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if os.fork() == 0:  # before CUDA is started in either
        ours.close()
        serve(theirs)
        os._exit(0)
    theirs.close()
    names = ours.recv(1024).decode().splitlines()
    if not names:
        raise SystemExit("the child ended: this needs an NVIDIA GPU")
    table = Table("call", "alone", "after the judge wrote", "the judge's wait afterwards")
    for name in names:
        alone_us, _ = measure(ours, name, options.calls, writes=False)
        after_us, waited_us = measure(ours, name, options.calls, writes=True)
        table.add_row(name, *(f"{us:.0f} µs" for us in (alone_us, after_us, waited_us)))
    Console().print(table)
    ours.close()


if __name__ == "__main__":
    main()
