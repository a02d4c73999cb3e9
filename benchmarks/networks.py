"""Convolutional networks of KernelBench beside the library's settings, without the judge.

    python benchmarks/networks.py KERNELBENCH [--level 3] [--problem 9 ...] [--mode train ...]
        [--batch N ...] [--dtype float32|bfloat16] [--dialect cuda,triton] [--first 3]
        [--kernels N] [--quick] [--host] [--lock FILE]

KERNELBENCH is a checkout of the suite. It needs a GPU. Each line has, form after form, the median
time of a call over windows of many, and after a slash the sum of its kernels' times, in
milliseconds: the library's eager mode, the same with channels last, and both compiled, each in a
CUDA graph; then the first candidates of the rules in the order in which a search tries them. At the
end stand the largest difference of the fastest candidate from eager, as a share of the largest
result, and the fastest form of the library over that candidate, by calls and by kernels. A form
that no graph can hold, as one whose forward copies a number from the host, says so.
``--quick`` leaves out the form that is compiled with channels last.
``--kernels N`` prints the N kernels that take most of each form's time. ``--host`` adds the
library's forms outside a graph of ours (eager, compiled, and compiled with the compiler's own
graphs), and the time of a single call of every form: until it returns, and until its result is
there.
Several of these may prepare side by side and time one after the other, with one ``--lock``.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import functools
import importlib.util
import itertools
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from triton.runtime.errors import OutOfResources

from kernelwright.core.candidate import Brief
from kernelwright.core.device import Device
from kernelwright.loaders.kernelbench import read_task
from kernelwright.proposers.rules.proposer import OpenedTask, first_proposals

PROBLEMS = ("9", "10", "11", "12", "15", "7", "18", "19", "20", "21", "22", "23", "27", "8")
N_WINDOWS, WINDOW_S, N_SINGLE = 9, 0.02, 40
EVALUATED = """

class Model(Network):
    def __init__(self, *args):
        super().__init__(*args)
        self.to(torch.{dtype}).train({trains})

    def forward(self, x):
        return super().forward(x)


_drawn = get_inputs


def get_inputs():
    return [x.to(torch.{dtype}) for x in _drawn()]
"""
Call = Callable[[], Any]


def text_of(path: Path, options: argparse.Namespace) -> str:
    """The problem's text in the mode, dtype and batch that are asked for."""
    text = path.read_text()
    if options.batch:
        text = re.sub(r"^batch_size = \d+", f"batch_size = {options.batch}", text, flags=re.M)
    if options.mode == "train" and options.dtype == "float32":
        return text
    text = re.sub(r"\bclass Model\b", "class Network", text)
    text = text.replace("super(Model, self)", "super(Network, self)")
    return text + EVALUATED.format(dtype=options.dtype, trains=options.mode == "train")


def load(text: str, name: str) -> ModuleType:
    """A module of this text, which is kept in a file: Triton reads it back."""
    path = Path(tempfile.mkdtemp(), f"{name}.py")
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def graphed(call: Call) -> Call:
    """``call`` as a CUDA graph."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            call()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        call()
    return graph.replay


@contextlib.contextmanager
def alone(lock: Path) -> Iterator[None]:
    """Keep others with the same lock from timing."""
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def milliseconds(call: Call, lock: Path) -> float:
    """The median time of a call over windows of many."""
    with alone(lock):
        return _milliseconds(call)


def _milliseconds(call: Call) -> float:
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    begin_s = time.perf_counter()
    call()
    torch.cuda.synchronize()
    n_calls = max(3, int(WINDOW_S / (time.perf_counter() - begin_s)))
    times = []
    for _ in range(N_WINDOWS):
        start, end = torch.cuda.Event(True), torch.cuda.Event(True)
        start.record()
        for _ in range(n_calls):
            call()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) / n_calls)
    return statistics.median(times)


def single(call: Call, lock: Path) -> str:
    """The median µs of single calls: until one returns, and until its result is there."""
    times = []
    with alone(lock):
        for _ in range(N_SINGLE):
            torch.cuda.synchronize()
            begin_s = time.perf_counter()
            call()
            returned_s = time.perf_counter()
            torch.cuda.synchronize()
            times.append((returned_s - begin_s, time.perf_counter() - begin_s))
    host, whole = (statistics.median(column) * 1e6 for column in zip(*times, strict=True))
    return f" ({host:.0f}, {whole:.0f} µs)"


def library(
    module: ModuleType, reference: torch.nn.Module, inputs: list[Any], options: argparse.Namespace
) -> Iterator[tuple[str, Callable[[], Call]]]:
    """The library's forms, and what makes a call of each: a CUDA graph, whose memory the next one
    may have, or one that the library launches itself."""
    eager = functools.partial(reference, *inputs)
    compiled = functools.partial(torch.compile(reference, dynamic=False), *inputs)
    yield "eager", functools.partial(graphed, eager)
    yield "compiled", functools.partial(graphed, compiled)
    if all(x.dim() == 4 for x in inputs):
        last = module.Model(*module.get_init_inputs()).cuda().to(memory_format=torch.channels_last)
        images = [x.contiguous(memory_format=torch.channels_last) for x in inputs]
        yield "channels last", functools.partial(graphed, functools.partial(last, *images))
        if not options.quick:
            both = functools.partial(torch.compile(last, dynamic=False), *images)
            yield "compiled, channels last", functools.partial(graphed, both)
    if options.host:
        yield "eager, no graph", lambda: eager
        yield "compiled, no graph", lambda: compiled
        torch.compiler.reset()
        own = torch.compile(reference, dynamic=False, mode="reduce-overhead")
        yield "compiled, its own graphs", lambda: functools.partial(own, *inputs)


def candidates(
    text: str, module: ModuleType, reference: torch.nn.Module, options: argparse.Namespace
) -> Iterator[tuple[str, torch.nn.Module]]:
    """The rules' first candidates, as many of a variant and dialect as lead the order."""
    path = Path(tempfile.mkdtemp(), "task.py")
    path.write_text(text)
    dialects = tuple(options.dialect.split(","))
    opened = OpenedTask(Brief(read_task(path), Device.parse("cuda:sm_90"), dialects, budget_s=4.0))
    for number, proposal in enumerate(itertools.islice(first_proposals(opened), options.first)):
        made = load(proposal.candidate.source, f"candidate_{number}").ModelNew
        new = made(*module.get_init_inputs()).cuda()
        new.load_state_dict(reference.state_dict())
        yield f"{proposal.schedule['variant']}, {proposal.candidate.dialect}", new


@dataclass(frozen=True)
class Taken:
    """The time of a call, and of its kernels, in milliseconds."""

    call: float
    kernels: float

    def __str__(self) -> str:
        return f"{self.call:.3f}/{self.kernels:.3f}"


def taken(name: str, call: Call, options: argparse.Namespace) -> Taken:
    """Measure a call while nothing else is measured; print its kernels if that is asked for."""
    call_ms = milliseconds(call, options.lock)
    with alone(options.lock):
        return Taken(call_ms, kernels(name, call, options.kernels))


def kernels(name: str, call: Call, most: int) -> float:
    """Return the sum of the times of a call's kernels; print ``most`` that take most."""
    call()
    torch.cuda.synchronize()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        call()
        torch.cuda.synchronize()
    rows = [r for r in profile.key_averages() if r.self_device_time_total]
    total = sum(r.self_device_time_total for r in rows) / 1e3
    if most:
        print(f"  {name}: {total:.3f} ms in {sum(r.count for r in rows)} kernels")
    for row in sorted(rows, key=lambda r: -r.self_device_time_total)[:most]:
        print(f"    {row.self_device_time_total / 1e3:7.3f} x{row.count:<3d} {row.key[:100]}")
    return total


@torch.no_grad()
def measure(path: Path, options: argparse.Namespace) -> None:
    """Print the line of a problem in one mode and batch."""
    text = text_of(path, options)
    module = load(text, "reference")
    torch.manual_seed(0)
    reference = module.Model(*module.get_init_inputs()).cuda()
    inputs = [x.cuda() for x in module.get_inputs()]
    said = functools.partial(single, lock=options.lock) if options.host else lambda call: ""
    line, times = [], dict[str, Taken]()
    for name, make in library(module, reference, inputs, options):
        try:
            call = make()
        except RuntimeError as error:
            line.append(f"{name} fails: {str(error).splitlines()[0]}")
            continue
        times[name] = taken(name, call, options)
        line.append(f"{name} {times[name]}{said(call)}")
        del call
    torch.cuda.empty_cache()
    best, difference = Taken(float("inf"), float("inf")), 0.0
    wanted = reference(*inputs).float()
    for name, new in candidates(text, module, reference, options):
        try:
            made = new(*inputs).float()
        except (RuntimeError, OutOfResources) as error:
            line.append(f"{name} fails: {str(error).splitlines()[0]}")
            continue
        call = functools.partial(new, *inputs)
        times_of = taken(name, call, options)
        line.append(f"{name} {times_of}{said(call)}")
        if times_of.kernels < best.kernels:
            difference = float((made - wanted).abs().max() / wanted.abs().max())
            best = times_of
    by_calls, by_kernels = (
        min(getattr(each, of) for each in times.values()) / getattr(best, of)
        for of in ("call", "kernels")
    )
    form = f"{path.stem}, {options.mode}, {options.dtype}, batch {options.batch or 'as given'}"
    ratios = f"{by_calls:.2f}, {by_kernels:.2f}"
    print(f"{form}: {' | '.join(line)} | off {difference:.0e} | {ratios}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", type=Path)
    parser.add_argument("--level", type=int, default=3)
    parser.add_argument("--problem", action="append", default=[])
    parser.add_argument("--mode", dest="modes", action="append", choices=("train", "eval"))
    parser.add_argument("--batch", dest="batches", type=int, action="append")
    parser.add_argument("--dtype", choices=("float32", "bfloat16"), default="float32")
    parser.add_argument("--dialect", default="cuda,triton")
    parser.add_argument("--first", type=int, default=3, help="candidates to measure")
    parser.add_argument("--kernels", type=int, default=0, help="kernels to print of each form")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--host", action="store_true")
    parser.add_argument("--lock", type=Path, default=Path(tempfile.gettempdir(), "networks.lock"))
    options = parser.parse_args()
    for problem in options.problem or PROBLEMS:
        (path,) = options.path.glob(f"**/level{options.level}/{problem}_*.py")
        ways = itertools.product(options.modes or ("train",), options.batches or (0,))
        for mode, batch in ways:
            measure(path, argparse.Namespace(**vars(options), mode=mode, batch=batch))


if __name__ == "__main__":
    main()
