"""The judge's clock on calls whose length is known, beside other clocks.

    python benchmarks/clock_resolution.py [--device cpu] [--repeats 5] [--us 2 5 10 20 50 100]

Modules that do nothing, that wait for a known time, and that write a known number of bytes run in
children as candidates do. Printed in microseconds: ``known``, the time that a module was told to
wait for; ``window``, the judge's time of a call in a window (the median, and the least and the
greatest of ``--repeats`` windows), with the calls in it and whether they were queued on the GPU;
``single``, its time of a single call that is waited for. Beside that, from this process: on a GPU
the kernels' durations by CUPTI (torch.profiler), ``triton.testing.do_bench``, and CUDA events
around 100 calls; on a CPU a loop over inputs of its own, by ``time.perf_counter``.
"""

from __future__ import annotations

import argparse
import contextlib
import pickle
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from kernelwright.core.device import Device
from kernelwright.dialects.devices import resolve
from kernelwright.judge.machine import Machine
from kernelwright.judge.sandbox.program import LibrarySetup, Program
from kernelwright.judge.sandbox.ring import Form, Packed
from kernelwright.judge.timing.stopwatch import Stopwatch

SOURCE = """
import time

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, work, amount):
        super().__init__()
        self.work, self.amount = work, amount

    def forward(self, x):
        return getattr(self, self.work)(x)

    def nothing(self, x):
        return x

    def one_kernel(self, x):
        return x + 1

    def wait(self, x):
        if x.is_cuda:
            torch.cuda._sleep(self.amount)
        else:
            end_ns = time.perf_counter_ns() + self.amount
            while time.perf_counter_ns() < end_ns:
                pass
        return x

    def write(self, x):
        return x * 2
"""
N_LOOPED, SINGLES = 100, 9


@dataclass(frozen=True)
class Work:
    """A module that does a known amount of work."""

    name: str
    amount: int = 0
    """Clock ticks on a GPU, nanoseconds on a CPU."""
    n_elements: int = 256
    known_us: float | None = None


class Inputs:
    """Inputs of windows: random numbers."""

    may_share_windows = True

    def __init__(self, x: torch.Tensor) -> None:
        self._like, self.form = x, Form([x], [x])
        self._kept: dict[int, Any] = {}

    def of(self, number: int) -> Any:
        if number not in self._kept:
            if len(self._kept) > 600:
                self._kept.clear()
            packed = Packed([torch.randn_like(self._like)])
            self._kept[number] = Input(None, packed.arguments, packed)
        return self._kept[number]


@dataclass(frozen=True)
class Input:
    draw: Any
    arguments: list[Any]
    packed: Packed


def by_judge(machine: Machine, work: Work, repeats: int) -> dict[str, Any]:
    """The judge's times of a work's calls, in microseconds."""
    x = torch.randn(work.n_elements, device=machine.backend.name)
    stopwatch = Stopwatch(machine.backend, cache="cold", limit_s=10.0, inputs=Inputs(x))
    like = [torch.empty(x.shape, device="meta")]
    runner = machine.factory.make(like)
    with contextlib.closing(runner):
        initial = pickle.dumps([work.name, work.amount])
        program = Program(SOURCE, "ModelNew", initial, 0, LibrarySetup())
        runner.build(program, {}, [x], limit_s=60.0)
        runner.put([x])
        runner.call(limit_s=60.0, take=False)
        stopwatch.prioritise(runner)
        with stopwatch.gathered([runner]):
            singles = []
            for _ in range(SINGLES):
                singles.append(stopwatch.call(runner, [x]).elapsed_ns / 1e3)
                stopwatch.rest(runner)
            n = stopwatch.n_calls(runner)
            times, is_queued = [], stopwatch.windows_of(runner).may_queue
            for repeat in range(repeats):
                inputs = {place: stopwatch.inputs_of(repeat * n + place) for place in range(n)}
                window = stopwatch.window(runner, inputs)
                times.append(window.call_ns / 1e3)
                is_queued &= window.was_queued
                stopwatch.rest(runner)
    times.sort()
    return {
        "window": statistics.median(times),
        "spread": f"{times[0]:.2f}–{times[-1]:.2f}",
        "calls": f"{n}{' queued' if is_queued else ''}",
        "single": statistics.median(singles),
    }


def by_others(work: Work, device: str) -> dict[str, float]:
    """Other clocks' times of the same calls in this process, in microseconds."""
    namespace: dict[str, Any] = {}
    exec(SOURCE, namespace)
    module = namespace["ModelNew"](work.name, work.amount)
    xs = [torch.randn(work.n_elements, device=device) for _ in range(ring_length(work, device))]
    return on_gpu(module, xs) if device != "cpu" else {"perf_counter": on_cpu(module, xs)}


def ring_length(work: Work, device: str) -> int:
    """As many inputs as do not stay in a cache."""
    wanted_bytes = 256 << 20 if device != "cpu" else 64 << 20
    return max(4, min(N_LOOPED, wanted_bytes // (4 * work.n_elements)))


def on_cpu(module: Callable[..., Any], xs: list[torch.Tensor]) -> float:
    best_us = float("inf")
    for _ in range(7):
        flush = torch.ones(16 << 20).sum()
        kept = []
        start_ns = time.perf_counter_ns()
        for x in xs:
            kept.append(module(x))
        best_us = min(best_us, (time.perf_counter_ns() - start_ns) / len(xs) / 1e3)
        del flush, kept
    return best_us


def on_gpu(module: Callable[..., Any], xs: list[torch.Tensor]) -> dict[str, float]:
    from triton.testing import do_bench

    def loop() -> None:
        for number in range(N_LOOPED):
            module(xs[number % len(xs)])

    loop()
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    torch.cuda._sleep(20_000_000)  # until all are queued
    start.record()
    loop()
    end.record()
    torch.cuda.synchronize()
    found = {
        "events": start.elapsed_time(end) * 1e3 / N_LOOPED,
        "do_bench": do_bench(lambda: module(xs[0]), return_mode="median") * 1e3,
    }
    kinds = [torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=kinds) as record:
        loop()
        torch.cuda.synchronize()
    events = record.profiler.function_events or []
    found["CUPTI"] = (
        sum(e.time_range.elapsed_us() for e in events if e.device_type.name != "CPU") / N_LOOPED
    )
    return found


def works(lengths_us: list[float], device: str) -> list[Work]:
    found = [Work("nothing"), Work("one_kernel")]
    if device == "cpu":
        found += [Work("wait", int(us * 1e3), known_us=us) for us in lengths_us]
        # About 10 GB a second of what is read and written, on a core of its own.
        found += [Work("write", n_elements=max(64, int(us * 1250))) for us in lengths_us]
        return found
    ticks = ticks_per_us()
    found += [Work("wait", int(us * ticks), known_us=us) for us in lengths_us]
    # About 3 TB a second.
    found += [Work("write", n_elements=int(us * 375_000)) for us in lengths_us]
    return found


def ticks_per_us() -> float:
    """The clock ticks of a GPU that waits, by events around a long wait."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    for _ in range(3):
        start.record()
        torch.cuda._sleep(50_000_000)
        end.record()
        torch.cuda.synchronize()
    return 50_000_000 / (start.elapsed_time(end) * 1e3)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--us", nargs="*", type=float, default=[2, 5, 10, 20, 50, 100])
    options = parser.parse_args()
    device = resolve(Device.parse(options.device))
    torch.set_grad_enabled(False)
    torch.set_num_threads(1)
    machine = Machine.of(device, threads=1 if device.kind == "cpu" else 0)
    others = ["perf_counter"] if device.kind == "cpu" else ["CUPTI", "do_bench", "events"]
    columns = ["window", "least–greatest", "calls", "single", *others]
    table = Table("work", "known", *columns, title=f"µs a call, {device.torch_name}")
    machine.factory.start()
    try:
        for work in works(options.us, device.kind):
            mine = by_judge(machine, work, options.repeats)
            theirs = by_others(work, machine.backend.name)
            size = f" {4 * work.n_elements / 1e6:.3g} MB" if work.name == "write" else ""
            table.add_row(
                work.name + size,
                "" if work.known_us is None else f"{work.known_us:g}",
                f"{mine['window']:.2f}",
                mine["spread"],
                mine["calls"],
                f"{mine['single']:.0f}",
                *(f"{theirs[name]:.2f}" for name in others),
            )
    finally:
        machine.factory.close()
        Console(width=120).print(table)


if __name__ == "__main__":
    main()
