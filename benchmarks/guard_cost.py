"""What a built module's look at each call costs, and what a miss costs over the plain module.

    python benchmarks/guard_cost.py [--rounds 300] [--device cuda:sm_90]

The same module is called plainly and as it is built from the rules' first candidate, in turn, in
one process. A miss computes what the plain module does, so that what it takes longer is its cost. A
row gives the shortest time of a plain call and of a built one, in CPU time of the one thread, which
other processes on the machine lengthen little; and the difference as a share of the call, where
that takes less than 50 µs of 50 µs.
"""

from __future__ import annotations

import argparse
import copy
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
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
N_CALLS = 20
LONG_US = 50
"""From here on a miss is to cost at most 1 % of the call."""


def made(n_layers: int, n_rows: int, device: str) -> tuple[nn.Module, nn.Module]:
    """The plain module, and the one that is built from the rules' first candidate."""
    text = TEXT.replace("{n_layers}", str(n_layers)).replace("{n_rows}", str(n_rows))
    task = Task("layers", "folder", text)
    dialects = ("cpp",) if device == "cpu" else ("triton", "cuda")
    brief = Brief(task, Device.parse(device), dialects, budget_s=1e9, threads=1)
    candidate = next(iter(proposals(brief))).candidate
    path = write_source(candidate, Path(tempfile.mkdtemp()), "layers")
    plain = open_reference(task).build(0)
    built = kw.build(path, state_dict=plain.state_dict(), on_miss="silent")
    where = device.partition(":")[0]
    return plain.to(where), built.to(where)


def time_us(call: Callable[[], object]) -> float:
    start_ns = time.thread_time_ns()
    for _ in range(N_CALLS):
        call()
    ran_us = (time.thread_time_ns() - start_ns) / N_CALLS / 1e3
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return ran_us


@dataclass
class Way:
    """A way of calling, of which no kernel but the first serves any."""

    name: str
    change: Callable[[torch.Tensor], torch.Tensor] = lambda x: x
    gradients: bool = False
    autocast: bool = False
    hook: bool = False


WAYS = (
    Way("served"),
    Way("miss: strides", lambda x: x.t().contiguous().t()),
    Way("miss: dtype", torch.Tensor.double),
    Way("miss: sizes", lambda x: x[:, None]),
    Way("miss: not plain memory", lambda x: torch._neg_view(-x)),
    Way("miss: gradients", gradients=True),
    Way("miss: autocast", autocast=True),
    Way("miss: changed module", hook=True),
)


def rows(n_rounds: int, device: str) -> Iterator[tuple[str, ...]]:
    where = device.partition(":")[0]
    for n_layers, n_rows in ((1, 64), (4, 64), (16, 64)):
        pair = made(n_layers, n_rows, device)
        for way in WAYS:
            plain, built = copy.deepcopy(pair)
            x = way.change(torch.randn(n_rows, 64, device=where))
            for module in (plain, built):
                module.to(x.dtype)
                if way.hook:
                    module.layers[0].register_forward_hook(lambda *_: None)
            with torch.set_grad_enabled(way.gradients), torch.autocast(where, enabled=way.autocast):
                plain_us, built_us = shortest(plain, built, x, n_rounds)
            extra_us = built_us - plain_us
            share = f"{extra_us / max(plain_us, LONG_US):.1%}" if way.name != "served" else ""
            times = f"{plain_us:.1f} µs", f"{built_us:.1f} µs", f"{extra_us:+.2f} µs"
            yield (f"{n_layers} layers", way.name, *times, share)


def shortest(
    plain: nn.Module, built: nn.Module, x: torch.Tensor, n_rounds: int
) -> tuple[float, float]:
    """The shortest time of a call of each, in µs."""
    plain(x), built(x)
    pairs = [(time_us(lambda: plain(x)), time_us(lambda: built(x))) for _ in range(n_rounds)]
    return min(a for a, _ in pairs), min(b for _, b in pairs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--device", default="cpu")
    given = parser.parse_args()
    torch.set_num_threads(1)
    table = Table("module", "call", "plain", "built", "more", "of the call")
    for row in rows(given.rounds, given.device):
        table.add_row(*row)
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
