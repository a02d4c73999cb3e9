"""What the rules' first products take beside the library, task by task of the suite of models.

    python -m benchmarks.emitted_products NAME [NAME ...] [--first 8]

NAME is a task of the suite, such as narrow_int4_batch. For each of the first schedules in Triton
with own products, a row gives the median time of the emitted file and of eager, both as CUDA
graphs, their ratio, the largest difference as a share of the largest number, and the tiles. It is
no verdict: nothing but one set of inputs is compared, and other settings of the library are not
timed. Needs an NVIDIA GPU.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
from torch import nn

from kernelwright.core.candidate import Brief
from kernelwright.core.device import Device
from kernelwright.loaders import open_reference
from kernelwright.proposers.rules.proposer import OpenedTask, emitters
from kernelwright.suites.suite import MODELS, SuiteEntry, builtin_suite

TILES = ("block_m", "block_n", "block_k", "warps", "stages", "descriptors", "parts", "precision")


def graph_us(function: Any) -> float:
    """The median time of a function as a CUDA graph, in microseconds."""
    from triton.testing import do_bench_cudagraph

    function()
    torch.cuda.synchronize()
    return 1e3 * float(do_bench_cudagraph(function, rep=30, return_mode="median"))


def built(source: str, module: nn.Module, folder: Path, number: int) -> nn.Module:
    """The emitted file's module, with the weights of the reference."""
    path = folder / f"emitted_{number}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    file = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(file)
    made: nn.Module = file.ModelNew.__new__(file.ModelNew)
    nn.Module.__init__(made)
    vars(made).update(vars(module))
    return made


@torch.no_grad()
def measure(entry: SuiteEntry, first: int, folder: Path) -> None:
    """Print a row for each of the first schedules of a task."""
    device = Device.parse("cuda:sm_{}{}".format(*torch.cuda.get_device_capability()))
    brief = Brief(entry.task, device, ("triton",), budget_s=60)
    reference = open_reference(entry.task)
    module = reference.build(0).cuda()
    inputs = [x.cuda() if isinstance(x, torch.Tensor) else x for x in reference.inputs(1)]
    wanted, eager_us = module(*inputs), graph_us(lambda: module(*inputs))
    opened, (emitter,) = OpenedTask(brief), emitters(brief)
    way = opened.variants[0]
    schedules = emitter.schedules(opened.program(way, emitter), opened.target)
    for number, schedule in enumerate(itertools.islice(schedules, first)):
        plain = {name: knobs for name, knobs in schedule.items() if name != "graph"}
        source = opened.proposal(way, emitter, plain).candidate.source
        made = built(source, module, folder, number)
        try:
            found = made(*inputs).double()
            own_us = graph_us(lambda made=made: made(*inputs))
        except Exception as error:  # a tile that this GPU cannot hold
            print(entry.name, type(error).__name__, str(error)[:200], flush=True)
            continue
        off = (found - wanted.double()).abs().max() / wanted.double().abs().max()
        tiles = [
            "/".join(str(knobs.get(name, "")) for name in TILES)
            for knobs in plain.values()
            if isinstance(knobs, dict) and "block_m" in knobs
        ]
        row = (entry.name, f"{eager_us:.1f}", f"{own_us:.1f}", f"{eager_us / own_us:.2f}")
        print(*row, f"{float(off):.4f}", *tiles, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--first", type=int, default=8)
    given = parser.parse_args()
    print("task, eager us, emitted us, ratio, error, tiles:", *TILES)
    with tempfile.TemporaryDirectory() as folder:
        for entry in builtin_suite(size="gpu", suite=MODELS):
            if entry.name in given.names:
                measure(entry, given.first, Path(folder))


if __name__ == "__main__":
    main()
