"""What the host does in a call of a built module, by the number of its weights.

    python benchmarks/host_time.py [--rounds 2000] [--blocks 1 --blocks 20 --blocks 120]

A network of convolutions and batch norms in evaluation mode, with three weights and two buffers a
block, runs as itself, compiled, and as the rules' first candidate that prepares weights. Times are
the shortest of all calls, in µs of the one thread, which other processes on the machine lengthen
little. "guard" is what decides whether kernels serve the call, and "look" its part that looks at
the module; "prepared" looks whether prepared weights are those of today, and "graph" whether a CUDA
graph would be (the same for all tensors that kernels read). All else of a call are its steps, the
library's convolutions among them: on a GPU these are replayed as a graph.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

import kernelwright as kw
from kernelwright.core.candidate import Brief
from kernelwright.core.device import Device
from kernelwright.core.task import Task
from kernelwright.loaders import open_reference
from kernelwright.proposers.rules.proposer import proposals
from kernelwright.search.result import write_source

TEXT = """
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(4, 4, 1, bias=False)
        self.norm = nn.BatchNorm2d(4)
        self.relu = nn.ReLU()

    def forward(self, x):
        return self.relu(self.norm(self.conv(x)))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(*(Block() for _ in range({n_blocks})))
        self.eval()

    def forward(self, x):
        return self.blocks(x)


def get_inputs():
    return [torch.randn(1, 4, 2, 2)]


def get_init_inputs():
    return []
"""


def shortest_us(call: Callable[[], object], n_rounds: int) -> float:
    """The shortest time of a call, in µs."""
    call()
    taken_ns = []
    for _ in range(n_rounds):
        start_ns = time.perf_counter_ns()
        call()
        taken_ns.append(time.perf_counter_ns() - start_ns)
    return min(taken_ns) / 1e3


@torch.no_grad()
def row(n_blocks: int, n_rounds: int) -> list[float]:
    """Numbers of weights and buffers, and times: eager, compiled, built, and the parts of that."""
    task = Task("blocks", "folder", TEXT.replace("{n_blocks}", str(n_blocks)))
    brief = Brief(task, Device.parse("cpu"), ("cpp",), budget_s=1e9, threads=1)
    source = next(p.candidate for p in proposals(brief) if "_prepare(" in p.candidate.source)
    path = write_source(source, Path(tempfile.mkdtemp()), f"blocks_{n_blocks}")
    plain = open_reference(task).build(0)
    built = kw.build(path, state_dict=plain.state_dict(), on_miss="raise")
    compiled = torch.compile(plain, dynamic=False)
    (x,) = open_reference(task).inputs(0)
    torch.testing.assert_close(built(x), plain(x), rtol=1e-3, atol=1e-4)
    file = sys.modules[type(built).__module__]
    numbers = file.Numbers(file.MODULES.weights_of(built))
    calls: list[Callable[[], object]] = [
        lambda: plain(x),
        lambda: compiled(x),
        lambda: built(x),
        lambda: built.why_not(x),
        lambda: file.MODULES.look(built),
        built._prepare,
        numbers.are_same,
    ]
    n_weights = len([*plain.parameters()])
    return [n_weights, len(numbers.tensors), *(shortest_us(call, n_rounds) for call in calls)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=2000)
    parser.add_argument("--blocks", type=int, action="append")
    given = parser.parse_args()
    torch.set_num_threads(1)
    heads = ("weights", "tensors read", "eager", "compiled", "built", "guard", "look")
    table = Table(*heads, "prepared", "graph", title="µs of the host a call")
    for n_blocks in given.blocks or (1, 20, 120):
        n_weights, n_read, *times = row(n_blocks, given.rounds)
        table.add_row(str(n_weights), str(n_read), *(f"{time_us:.1f}" for time_us in times))
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
