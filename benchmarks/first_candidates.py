"""The candidates that a short search of KernelBench tries first on a GPU, listed without one.

    python benchmarks/first_candidates.py KERNELBENCH [--levels 1,2,3] [--problem N ...] [--first 5]
                                          [--limit 60s] [--seconds] [--rows FILE]

KERNELBENCH is a checkout of the suite. For each problem it prints the candidates in the order in
which the tuner tries them before anything is measured: dialect, variant, the time that is expected
in microseconds, the number of the candidate's own kernels, and the library's calls that are left
in it. A mark tells that the first candidate leaves a product (``P``), a convolution (``C``), or
another operator (``O``) to the library. ``--seconds`` adds how long the candidates took to write.
``--rows`` also writes a line of JSON for each problem.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import time
from collections import Counter
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from kernelwright.compiler.codegen.outline import PRODUCTS
from kernelwright.core.candidate import Brief
from kernelwright.core.device import Device
from kernelwright.core.settings import parse_seconds
from kernelwright.suites.suite import SuiteEntry, kernelbench_suite
from kernelwright.tuner.cost_model import CostModel
from kernelwright.tuner.pool import Pool
from kernelwright.tuner.prior import machine
from kernelwright.tuner.space import Space
from kernelwright.tuner.tuner import CHUNK

DIALECTS = ("triton", "cuda", "torch")


def first_candidates(entry: SuiteEntry, n: int) -> dict[str, Any]:
    """The first ``n`` candidates of a search for an H100 or H200, in order."""
    begin_s = time.monotonic()
    space = Space(Brief(entry.task, Device.parse("cuda:sm_90"), DIALECTS, budget_s=4.0))
    pool = Pool(space, CostModel(machine("cuda", 1)))
    rows = []
    for proposal in pool.take(CHUNK, [], time.monotonic())[:n]:
        steps = space.outline(proposal).steps
        calls = Counter(word for step in steps if not step.name for word in step.form)
        rows.append({
            "dialect": proposal.candidate.dialect,
            "variant": proposal.schedule["variant"],
            "expected_us": math.exp(pool.expected(proposal)) / 1e3,
            "kernels": sum(bool(step.name) for step in steps),
            "calls": dict(calls),
            "schedule": proposal.schedule["kernels"],
        })  # fmt: skip
    return {"candidates": rows, "seconds": time.monotonic() - begin_s}


def mark(calls: dict[str, int]) -> str:
    """Name the work that is left to the library: products, convolutions, other operators."""
    words = {part for call in calls for part in call.split(".")}
    has_product = not words.isdisjoint(PRODUCTS)
    has_convolution = any("conv" in word for word in words)
    others = [call for call in calls if not is_product(call) and is_work(call)]
    return "P" * has_product + "C" * has_convolution + "O" * bool(others)


def is_product(call: str) -> bool:
    return any(part in PRODUCTS or "conv" in part for part in call.split("."))


def is_work(call: str) -> bool:
    """Whether a call computes, rather than makes or views a tensor or counts batches."""
    cheap = ("view", "reshape", "permute", "transpose", "slice", "select", "expand", "add_",
             "unsqueeze", "squeeze", "zeros", "ones", "empty", "full", "split", "t", "arange",
             "unbind", "chunk", "detach", "alias")  # fmt: skip
    return not any(part in cheap for part in call.split("."))


def in_child(entry: SuiteEntry, n: int, limit_s: float) -> dict[str, Any]:
    """The same in a process of its own, which is ended after so many seconds."""
    ours, theirs = multiprocessing.Pipe()
    child = multiprocessing.get_context("fork").Process(target=_answer, args=(theirs, entry, n))
    child.start()
    theirs.close()
    try:
        if ours.poll(limit_s):
            found: dict[str, Any] = ours.recv()
            return found
        return {"error": f"no candidate within {limit_s:.0f} s"}
    except EOFError:
        return {"error": "the process ended"}
    finally:
        child.kill()
        child.join()


def _answer(channel: Connection, entry: SuiteEntry, n: int) -> None:
    try:
        channel.send(first_candidates(entry, n))
    except Exception as error:
        channel.send({"error": f"{type(error).__name__}: {error}"[:200]})


def lines(name: str, found: dict[str, Any], *, with_seconds: bool) -> Iterator[str]:
    """The text for one problem."""
    if "error" in found:
        yield f"{name}: {found['error']}"
        return
    rows = found["candidates"]
    took = f" ({found['seconds']:.1f} s)" if with_seconds else ""
    yield f"{name}{took} {mark(rows[0]['calls']) if rows else 'no candidate'}"
    for row in rows:
        calls = ", ".join(
            f"{call.removeprefix('torch.ops.').removeprefix('aten.')}" + f" x{n}" * (n > 1)
            for call, n in row["calls"].items()
        )
        graph = " graph" if row["schedule"].get("graph") else ""
        forms = sorted({
            str(knobs["precision"])
            for knobs in row["schedule"].values()
            if isinstance(knobs, dict) and "precision" in knobs
        })  # fmt: skip
        yield (
            f"  {row['dialect']:6} {row['variant']:28} {row['expected_us']:9.0f} "
            f"{row['kernels']:3d} kernels {' '.join(forms)}{graph} | {calls}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", type=Path)
    parser.add_argument("--levels", default="1,2,3")
    parser.add_argument("--problem", action="append", default=[], help="as 2/81")
    parser.add_argument("--first", type=int, default=5)
    parser.add_argument("--limit", type=parse_seconds, default=60.0)
    parser.add_argument("--seconds", action="store_true")
    parser.add_argument("--rows", type=Path)
    options = parser.parse_args()
    levels = [int(level) for level in options.levels.split(",")]
    entries = kernelbench_suite(options.path, levels)
    marks: Counter[str] = Counter()
    for entry in entries:
        name = f"{entry.level}/{entry.name}"
        if options.problem and f"{entry.level}/{entry.problem}" not in options.problem:
            continue
        found = in_child(entry, options.first, options.limit)
        print(*lines(name, found, with_seconds=options.seconds), sep="\n", flush=True)
        if options.rows:
            with options.rows.open("a") as file:
                file.write(json.dumps({"name": name, **found}) + "\n")
        rows = found.get("candidates") or [{}]
        marks["error" if "error" in found else mark(rows[0].get("calls", {})) or "all own"] += 1
    print(", ".join(f"{word}: {n}" for word, n in marks.most_common()))


if __name__ == "__main__":
    main()
