"""Emitted C++ beside PyTorch, without a search: the first schedule of each of a few patterns.

    python benchmarks/cpp_kernels.py                      all patterns, both allocator settings
    python benchmarks/cpp_kernels.py softmax --threads 1  some of them

Each line: median milliseconds of eager, torch.compile and own code, interleaved, with caches
flushed before every call; then own code's ratio to both, and its error against float64 beside
eager's. The second block runs with THP_MEM_ALLOC_ENABLE=1, PyTorch's own way to huge pages.
With one thread the clock is the thread's CPU time, which other programs on the machine disturb
less; with more it is wall time.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
import types
from collections.abc import Callable

import torch
from torch import nn

from kernelwright.core.candidate import Brief
from kernelwright.core.device import Device
from kernelwright.loaders import load, open_reference
from kernelwright.proposers.rules import RulesProposer

N = 4096
FLUSH_BYTES = 64 << 20
ROUNDS = 15


class Layer(nn.Module):
    """A library layer as a module of its own."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x)


class Chain(nn.Module):
    """Eight pointwise operations and a row reduction."""

    def forward(self, x):
        x = torch.tanh(x * 1.5 + 0.25) * x
        return torch.relu(torch.sigmoid(x) + x).square().sum(dim=1)


class Gelu(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(1024, 4096)

    def forward(self, x):
        return nn.functional.gelu(self.linear(x))


class Cumsum(nn.Module):
    def forward(self, x):
        return torch.cumsum(x, dim=1)


PATTERNS: dict[str, Callable[[], tuple[nn.Module, tuple[int, ...]]]] = {
    "chain": lambda: (Chain(), (N, N)),
    "softmax": lambda: (Layer(nn.Softmax(dim=1)), (N, N)),
    "layer_norm": lambda: (Layer(nn.LayerNorm(N)), (N, N)),
    "group_norm": lambda: (Layer(nn.GroupNorm(8, 64)), (16, 64, 112, 112)),
    "short_rows": lambda: (Layer(nn.LayerNorm(64)), (N * 64, 64)),
    "rms_norm": lambda: (Layer(nn.RMSNorm(N, eps=1e-5)), (N, N)),
    "cumsum": lambda: (Cumsum(), (N, N)),
    "linear_gelu": lambda: (Gelu(), (1024, 1024)),
    "max_pool": lambda: (Layer(nn.MaxPool2d(3, 2, 1)), (16, 64, 112, 112)),
}


def own_module(module: nn.Module, x: torch.Tensor, threads: int) -> nn.Module:
    """The first proposal that does every step in own code, or else the first of all."""
    task = load(module, inputs=[x])
    brief = Brief(task, Device.parse("cpu"), ("cpp",), threads=threads)
    first = [p for p, _ in zip(RulesProposer().propose(brief), range(4), strict=False)]
    chosen = next((p for p in first if "products" in p.note and "own" in p.note), first[0])
    namespace = types.ModuleType("candidate")
    exec(chosen.candidate.source, namespace.__dict__)
    built = namespace.ModelNew(*open_reference(task).init_inputs(0))
    built.load_state_dict(module.state_dict())
    return built


def medians_ms(calls: dict[str, Callable[[], object]], threads: int) -> dict[str, float]:
    clock = time.thread_time_ns if threads == 1 else time.perf_counter_ns
    flush = torch.empty(FLUSH_BYTES, dtype=torch.uint8)
    samples: dict[str, list[int]] = {name: [] for name in calls}
    for round_number in range(ROUNDS + 2):
        for name, call in calls.items():
            flush.fill_(round_number)
            begin = clock()
            call()
            samples[name].append(clock() - begin)
    return {name: statistics.median(values[2:]) / 1e6 for name, values in samples.items()}


def error(have: torch.Tensor, exact: torch.Tensor) -> float:
    return ((have.double() - exact).abs().max() / exact.abs().max()).item()


def measure(name: str, threads: int) -> None:
    torch.manual_seed(0)
    module, shape = PATTERNS[name]()
    x = torch.randn(shape)
    own = own_module(module, x, threads)
    compiled = torch.compile(module)
    calls = {"eager": lambda: module(x), "compile": lambda: compiled(x), "own": lambda: own(x)}
    ms = medians_ms(calls, threads)
    have, eager = own(x), module(x)
    exact = module.double()(x.double())
    times = "  ".join(f"{key} {value:8.2f} ms" for key, value in ms.items())
    ratios = f"x{ms['eager'] / ms['own']:.2f} eager, x{ms['compile'] / ms['own']:.2f} compile"
    print(f"{name:12s} {times}  {ratios}  error {error(have, exact):.0e}/{error(eager, exact):.0e}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("patterns", nargs="*", choices=[[], *PATTERNS], default=[])
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--one-setting", action="store_true", help="this environment only")
    arguments = parser.parse_args()
    if arguments.one_setting:
        torch.set_num_threads(arguments.threads)
        with torch.no_grad():
            for name in arguments.patterns or PATTERNS:
                measure(name, arguments.threads)
        return
    for value in ("0", "1"):
        print(f"THP_MEM_ALLOC_ENABLE={value}", flush=True)
        environment = os.environ | {"THP_MEM_ALLOC_ENABLE": value}
        command = [sys.executable, *sys.argv, "--one-setting"]
        subprocess.run(command, env=environment, check=True)


if __name__ == "__main__":
    main()
