"""Times of float32 products in parts beside torch.matmul, schedule by schedule.

    python -m benchmarks.product_schedules [--shape 4096x4096x4096 ...] [--first 6] [--jobs 14]

Needs an NVIDIA GPU. For every shape (m x n x k) the schedules that are tried first, with the
milliseconds that the model gives them, those of a call that splits both operands, and of one that
keeps b's parts, as a layer does with its weight: medians of CUDA events, the L2 cache cold, calls
queued so that none waits for Python. Errors are against float64, over those of torch.matmul.
"""

from __future__ import annotations

import argparse
import statistics
import textwrap
from collections.abc import Callable, Mapping
from multiprocessing import get_context
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from tests.emitters import build
from tests.nests import plain_product

from kernelwright.compiler.codegen.base import Target
from kernelwright.compiler.codegen.triton.emitter import TritonEmitter
from kernelwright.compiler.codegen.triton.product_cost import Tile, Way, split_cost_s

SHAPES = (  # L1/1, L1/8, half of L1/1, L1/6, L1/7, a layer, L1/2
    "4096x4096x4096", "8205x5921x2949", "2048x2048x2048", "256x256x524288", "32768x32768x64",
    "1024x8192x8192", "2048x4096x8192",
)  # fmt: skip
CALLS = 11
CACHE_BYTES = 256 << 20
"""Several times the L2 cache of an H200 (50 MB)."""
SLEEP_CYCLES = 1_000_000
"""The GPU idles for half a millisecond while Python queues a call."""
CHECKED_ROWS = 2048

Knobs = Mapping[str, Any]


def text(shape: str, knobs: Knobs, target: str) -> str:
    """A module: ``run(a, b, *parts)``, and ``parts_of_a(a)``, ``parts_of_b(b)`` where it splits."""
    program = plain_product(*map(int, shape.split("x")))
    emitted = TritonEmitter().emit(program, {"matmul": knobs}, Target(target))
    functions = []
    for source in ("a", "b") if emitted.derived else ():
        parts = [part for part in emitted.derived if part.source == source]
        body = "\n".join(part.text for part in parts)
        names = ", ".join(part.name for part in parts)
        functions.append(function(f"parts_of_{source}({source})", body, f"({names},)"))
    parts = [part.name for part in emitted.derived]
    names = ", ".join(["a", "b", *sorted(parts, key=lambda name: "_b_" in name)])
    functions.append(function(f"run({names})", emitted.launches["matmul"], "y"))
    return "\n".join([*emitted.imports, emitted.definitions, *functions])


def function(head: str, body: str, result: str) -> str:
    return f"def {head}:\n" + textwrap.indent(f"{body}\nreturn {result}\n", "    ")


def calls(shape: str, knobs: Knobs, target: str, a: Any, b: Any) -> list[Callable[[], Any]]:
    """A call that splits both operands, and one that keeps b's parts."""
    module = build(text(shape, knobs, target), "run").__globals__
    run = module["run"]
    if "parts_of_b" not in module:
        return [lambda: run(a, b)] * 2
    of_a, of_b = module["parts_of_a"], module["parts_of_b"]
    kept = of_b(b)
    return [lambda: run(a, b, *of_a(a), *of_b(b)), lambda: run(a, b, *of_a(a), *kept)]


def operands(shape: str) -> tuple[Any, Any]:
    m, n, k = map(int, shape.split("x"))
    torch.manual_seed(0)
    return torch.rand(m, k, device="cuda"), torch.rand(k, n, device="cuda")


def compile_one(job: tuple[str, Knobs, str]) -> None:
    """Fill Triton's cache; memory goes back, for the processes beside this one."""
    calls(*job, *operands(job[0]))[0]()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()


def milliseconds(call: Callable[[], Any], flush: Any) -> float:
    """The median of ``CALLS`` calls."""
    pairs = []
    call()
    for _ in range(CALLS):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda._sleep(SLEEP_CYCLES)
        flush.zero_()
        start.record()
        call()
        end.record()
        pairs.append((start, end))
    torch.cuda.synchronize()
    return statistics.median(start.elapsed_time(end) for start, end in pairs)


def measure(shape: str, options: list[Knobs], target: str) -> Table:
    a, b = operands(shape)
    flush = torch.empty(CACHE_BYTES, dtype=torch.uint8, device="cuda")
    exact = a[:CHECKED_ROWS].double() @ b.double()

    def error(y: Any) -> float:
        return float((y[:CHECKED_ROWS].double() - exact).norm() / exact.norm())

    eager_error = error(a @ b)
    eager_ms = milliseconds(lambda: a @ b, flush)
    heads = ("schedule", "model ms", "ms", "b kept ms", "x eager", "error / eager's")
    table = Table(*heads, title=f"{shape}: torch.matmul {eager_ms:.3f} ms, error {eager_error:.1e}")
    (step,) = plain_product(*map(int, shape.split("x"))).own()
    for knobs in options:
        tile = Tile(*(knobs[x] for x in ("block_m", "block_n", "block_k", "warps", "stages")))
        way = Way(knobs["split"], bool(knobs.get("descriptors")), knobs["precision"])
        model_ms = 1e3 * split_cost_s(step, tile, way)
        every, kept = calls(shape, knobs, target, a, b)
        ms, kept_ms = (milliseconds(call, flush) for call in (every, kept))
        label = (
            f"{way.precision} {tile.m}x{tile.n}x{tile.k} w{tile.warps} s{tile.stages} {way.place}"
        )
        label += " descriptors" if way.descriptors else ""
        values = (model_ms, ms, kept_ms, eager_ms / ms, error(every()) / eager_error)
        table.add_row(label, *(f"{value:.3f}" for value in values))
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", nargs="+", default=SHAPES)
    parser.add_argument("--first", type=int, default=6)
    parser.add_argument("--jobs", type=int, default=14, help="processes that compile")
    arguments = parser.parse_args()
    target = "cuda:sm_{}{}".format(*torch.cuda.get_device_capability())
    jobs = []
    for shape in arguments.shape:
        program = plain_product(*map(int, shape.split("x")))
        options = [s["matmul"] for s in TritonEmitter().schedules(program, Target(target))]
        in_parts = [knobs for knobs in options if "split" in knobs]
        jobs += [(shape, knobs, target) for knobs in in_parts[: arguments.first]]
    with get_context("spawn").Pool(arguments.jobs) as pool:
        pool.map(compile_one, jobs, chunksize=1)
    console = Console()
    for shape in arguments.shape:
        console.print(measure(shape, [knobs for name, knobs, _ in jobs if name == shape], target))
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
