"""What a built module's look at each call costs, and what a miss costs over the plain module.

    python benchmarks/guard_cost.py [--rounds 30]

The same module is called plainly and as it is built from the rules' first candidate, in turn, in
one process. A row gives the plain call's time, and the built one's as a ratio with the quartiles of
the rounds. The modules differ in their number of parts; a miss computes what the plain module does.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table
from torch import nn

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


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        layers = [part for _ in range({n_layers}) for part in (nn.Linear(64, 64), nn.ReLU())]
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        return self.layers(x) * 2 + 1


def get_inputs():
    return [torch.randn({n_rows}, 64)]


def get_init_inputs():
    return []
"""
N_CALLS = 50


def made(n_layers: int, n_rows: int) -> tuple[nn.Module, nn.Module]:
    """The plain module, and the one that is built from the rules' first candidate."""
    text = TEXT.replace("{n_layers}", str(n_layers)).replace("{n_rows}", str(n_rows))
    task = Task("layers", "folder", text)
    brief = Brief(task, Device.parse("cpu"), ("cpp",), budget_s=1e9, threads=1)
    candidate = next(iter(proposals(brief))).candidate
    path = write_source(candidate, Path(tempfile.mkdtemp()), "layers")
    plain = open_reference(task).build(0)
    built = kw.build(path, state_dict=plain.state_dict(), on_miss="silent")
    return plain, built


def time_us(call: Callable[[], object]) -> float:
    start_ns = time.perf_counter_ns()
    for _ in range(N_CALLS):
        call()
    return (time.perf_counter_ns() - start_ns) / N_CALLS / 1e3


def rows(n_rounds: int) -> Iterator[tuple[str, ...]]:
    for n_layers, n_rows in ((1, 64), (1, 512), (4, 64), (16, 64)):
        plain, built = made(n_layers, n_rows)
        x, other = torch.randn(n_rows, 64), torch.randn(64, n_rows).t()
        cases: dict[str, Callable[[nn.Module], object]] = {
            "served": lambda module, x=x: module(x),
            "miss: strides": lambda module, x=other: module(x),
        }
        with torch.no_grad():
            for name, case in cases.items():
                yield (
                    f"{n_layers} layers, {n_rows} rows",
                    name,
                    *compared(plain, built, case, n_rounds),
                )
        graded = lambda module, x=x: module(x)  # noqa: E731
        yield (f"{n_layers} layers, {n_rows} rows", "miss: gradients",
               *compared(plain, built, graded, n_rounds))  # fmt: skip


def compared(
    plain: nn.Module, built: nn.Module, case: Callable[[nn.Module], object], n_rounds: int
) -> tuple[str, str]:
    """The plain call's time, and the built one's as a ratio."""
    case(plain), case(built)
    pairs = [(time_us(lambda: case(plain)), time_us(lambda: case(built))) for _ in range(n_rounds)]
    low, middle, high = statistics.quantiles([b / a for a, b in pairs], n=4)
    usual = statistics.median(a for a, _ in pairs)
    return f"{usual:.1f} µs", f"{middle:.3f} ({low:.3f}–{high:.3f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=30)
    given = parser.parse_args()
    torch.set_num_threads(1)
    table = Table("module", "call", "plain", "built, times as long")
    for row in rows(given.rounds):
        table.add_row(*row)
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
