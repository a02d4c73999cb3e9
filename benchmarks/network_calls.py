"""What single calls of networks take on a GPU: the host's time, and until the result is there.

    python benchmarks/network_calls.py KERNELBENCH [--problem 9 ...] [--mode eval --mode train]
        [--batch 1 --batch 8] [--dialect triton] [--first 2] [--alone] [--lock FILE]

KERNELBENCH is a checkout of the suite; problems are of level 3. A line is a form: the first
candidates of the rules, then, without ``--alone``, eager mode, torch.compile, a bare replay of a
graph of the compiled network, which looks at nothing, and torch.compile with CUDA graphs
("reduce-overhead"). Times are medians in µs: until a single call returns, until its result is
there, and of one call where many follow one another. Several of these may prepare side by side and
time one after the other, with one ``--lock``.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import networks
import torch
from networks import Call

PROBLEMS = ("9", "22", "15")
N_CALLS = 60


def single_us(call: Call) -> tuple[float, float]:
    """The median times of a call alone: until it returns, and until its result is there."""
    times = []
    for _ in range(N_CALLS):
        torch.cuda.synchronize()
        begin_s = time.perf_counter()
        call()
        returned_s = time.perf_counter()
        torch.cuda.synchronize()
        times.append((returned_s - begin_s, time.perf_counter() - begin_s))
    host, whole = (statistics.median(column) * 1e6 for column in zip(*times, strict=True))
    return host, whole


def library(reference: torch.nn.Module, inputs: list[Any]) -> Iterator[tuple[str, Call]]:
    """The library's forms."""
    yield "eager", functools.partial(reference, *inputs)
    compiled = torch.compile(reference, dynamic=False)
    yield "compiled", functools.partial(compiled, *inputs)
    yield "a bare graph", networks.graphed(functools.partial(compiled, *inputs))
    torch.compiler.reset()
    graphs = torch.compile(reference, dynamic=False, mode="reduce-overhead")
    yield "compiled, graphs", functools.partial(graphs, *inputs)


def forms(
    text: str, module: ModuleType, options: argparse.Namespace
) -> Iterator[tuple[str, Call, torch.Tensor, torch.Tensor]]:
    """The forms of a network, with what each gives and what eager mode gives."""
    torch.manual_seed(0)
    reference = module.Model(*module.get_init_inputs()).cuda()
    inputs = [x.cuda() for x in module.get_inputs()]
    wanted = reference(*inputs)
    for name, new in networks.candidates(text, module, reference, options):
        call = functools.partial(new, *inputs)
        yield name, call, call(), wanted
    if not options.alone:
        for name, call in library(reference, inputs):
            yield name, call, call() if "bare" not in name else wanted, wanted


@torch.no_grad()
def measure(path: Path, options: argparse.Namespace) -> None:
    text = networks.text_of(path, options)
    head = f"{path.stem} {options.mode} {options.batch}"
    for name, call, made, wanted in forms(text, networks.load(text, "reference"), options):
        off = float((made.float() - wanted.float()).abs().max() / wanted.float().abs().max())
        many_us = networks.milliseconds(call, options.lock) * 1e3
        with networks.alone(options.lock):
            host_us, whole_us = single_us(call)
        times = f"{host_us:7.0f} {whole_us:7.0f} {many_us:7.0f}"
        print(f"{head:24} {name:34} {times}  off {off:.0e}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", type=Path)
    parser.add_argument("--problem", action="append", default=[])
    parser.add_argument("--mode", dest="modes", action="append", choices=("train", "eval"))
    parser.add_argument("--batch", dest="batches", type=int, action="append")
    parser.add_argument("--dtype", choices=("float32", "bfloat16"), default="float32")
    parser.add_argument("--dialect", default="triton")
    parser.add_argument("--first", type=int, default=2, help="candidates to measure")
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--lock", type=Path, default=Path(tempfile.gettempdir(), "networks.lock"))
    options = parser.parse_args()
    for problem in options.problem or PROBLEMS:
        (path,) = options.path.glob(f"**/level3/{problem}_*.py")
        ways = itertools.product(options.modes or ("eval", "train"), options.batches or (1, 8))
        for mode, batch in ways:
            measure(path, argparse.Namespace(**vars(options), mode=mode, batch=batch))


if __name__ == "__main__":
    main()
