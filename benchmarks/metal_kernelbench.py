"""For how many problems of KernelBench rules give a right kernel in MSL, emulated on this CPU.

    python benchmarks/metal_kernelbench.py KERNELBENCH [--level 1] [--first 1] [--last 100]
                                           [--jobs 1]

KERNELBENCH is a checkout of the suite. Sizes are cut, because the emulation multiplies some ten
million numbers a second. Each problem's first candidate is run on the problem's own inputs and
compared with eager PyTorch; it is not judged. Prints a line for each problem, with the large
operators that PyTorch still ran, and the counts.
"""

from __future__ import annotations

import argparse
import multiprocessing
import re
import traceback
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from kernelwright.core.candidate import Brief
from kernelwright.core.device import Device
from kernelwright.core.task import Task
from kernelwright.dialects.compile_shader import DISPATCH, install
from kernelwright.dialects.devices import resolve
from kernelwright.proposers.rules import RulesProposer

SIZES, FACTORS, MOST_IN_BATCH = (48, 32, 24, 16, 12, 8), (2, 4, 8, 16, 32), 3
MOST_PRODUCTS, MOST_NUMBERS = 1e7, 3e5
"""Numbers that a problem may multiply, and compute."""
LIMIT_S = 400
LARGE = re.compile(r"aten::(\w*convolution\w*|mm|bmm|addmm|baddbmm|\w*attention\w*|lstm|gru)$")
_SIZES = re.compile(r"(?:^|(?<=;))([\w, =]+?)( *= *)(\d+(?: *, *\d+)*)\b", re.MULTILINE)


def cut(text: str, most: int = 10**9, factor: int = 1) -> str:
    """The problem with its module-level sizes cut: at most ``most``, and those from 16 on divided
    by ``factor``."""

    def cut_line(match: re.Match[str]) -> str:
        least = min(MOST_IN_BATCH, most) if "batch" in match[1] else most
        numbers = [int(number) for number in match[3].split(",")]
        numbers = [max(8, n // factor) if factor > 1 and n >= 16 else n for n in numbers]
        return f"{match[1]}{match[2]}{', '.join(str(min(n, least)) for n in numbers)}"

    return _SIZES.sub(cut_line, text)


def forms(text: str) -> Iterator[tuple[str, str]]:
    """What is cut, and the problem's text, the largest first."""
    yield from ((f"sizes up to {size}", cut(text, size)) for size in SIZES)
    yield from ((f"sizes divided by {factor}", cut(text, factor=factor)) for factor in FACTORS)


class Numbers(TorchDispatchMode):
    """Counts the numbers that operators return."""

    total = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor):
            self.total += result.numel()
        return result


def fits(text: str) -> bool:
    """Whether the problem runs, and is small enough, by its shapes alone."""
    names: dict[str, Any] = {"__name__": "sizes"}
    try:
        with torch.device("meta"), torch.no_grad():
            exec(text, names)
            model = names["Model"](*names["get_init_inputs"]())
            inputs = names["get_inputs"]()
            with FlopCounterMode(display=False) as products, Numbers() as numbers:
                model(*inputs)
    except Exception:
        return False
    few = products.get_total_flops() <= 2 * MOST_PRODUCTS
    return few and numbers.total <= MOST_NUMBERS


def outcome(text: str) -> str:
    """'right …', 'wrong …', 'no kernel' if rules leave all to PyTorch."""
    brief = Brief(Task("problem", "kernelbench", text), resolve(Device("metal")), ("metal",))
    proposal = next(iter(RulesProposer().propose(brief)), None)
    if proposal is None:
        return "no kernel"
    reference: dict[str, Any] = {"__name__": "reference"}
    exec(text, reference)
    torch.manual_seed(0)
    model = reference["Model"](*reference["get_init_inputs"]())  # in training mode, as the suite's
    inputs = reference["get_inputs"]()
    torch.manual_seed(1)
    with torch.no_grad():
        wanted = model(*[x.clone() if isinstance(x, torch.Tensor) else x for x in inputs])
    install()
    candidate: dict[str, Any] = {"__name__": "candidate"}
    exec(compile(proposal.candidate.source, "candidate.py", "exec"), candidate)
    torch.manual_seed(0)
    made = candidate["ModelNew"](*reference["get_init_inputs"]())
    torch.manual_seed(1)
    with torch.no_grad(), torch.autograd.profiler.profile(use_kineto=False) as record:
        found = made(*inputs)
    try:
        torch.testing.assert_close(found, wanted, atol=1e-4, rtol=1e-4)
    except AssertionError as error:
        return f"wrong: {str(error).splitlines()[0]}"
    ran = [event.name for event in record.function_events or []]
    n_kernels = sum(name.startswith(DISPATCH) for name in ran)
    left = sorted({name[1] for name in map(LARGE.match, ran) if name})
    if not n_kernels:
        return "no kernel ran"
    return f"right: {n_kernels} kernels" + (f", and PyTorch's {', '.join(left)}" if left else "")


def tell(text: str, to: Connection) -> None:
    """Send the outcome for the first form that fits."""
    what, given = next((form for form in forms(text) if fits(form[1])), ("no size", ""))
    try:
        to.send(f"{outcome(given)}; {what}" if given else "too large: no cut of it runs")
    except Exception:
        to.send(f"error: {traceback.format_exc().strip().splitlines()[-1]}; {what}")


def outcome_apart(file: Path) -> str:
    """The outcome from a process of its own, which may crash or be late."""
    fork = multiprocessing.get_context("fork")
    ours, theirs = fork.Pipe()
    process = fork.Process(target=tell, args=(file.read_text(), theirs))
    process.start()
    theirs.close()
    try:
        return ours.recv() if ours.poll(LIMIT_S) else f"late: more than {LIMIT_S} s"
    except EOFError:
        return "crashed"
    finally:
        process.kill()
        process.join()


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("kernelbench", type=Path)
    words.add_argument("--level", type=int, default=1)
    words.add_argument("--first", type=int, default=1, help="begin with the problem of this number")
    words.add_argument("--last", type=int, default=1000, help="end with it")
    words.add_argument("--jobs", type=int, default=1, help="problems at a time")
    asked = words.parse_args()
    torch.set_num_threads(1)
    files = (asked.kernelbench / "KernelBench" / f"level{asked.level}").glob("*.py")
    numbered = sorted((int(file.name.partition("_")[0]), file) for file in files)
    chosen = [file for number, file in numbered if asked.first <= number <= asked.last]
    counts = Counter[str]()
    with ThreadPoolExecutor(asked.jobs) as pool:
        for file, said in zip(chosen, pool.map(outcome_apart, chosen), strict=True):
            counts[re.split("[:;]", said)[0]] += 1
            print(f"{file.name}: {said[:160]}", flush=True)
    print(", ".join(f"{n} {what}" for what, n in counts.most_common()))


if __name__ == "__main__":
    main()
