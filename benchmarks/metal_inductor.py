"""Whether the kernels that TorchInductor writes for Apple GPUs give torch's numbers on this CPU.

    python benchmarks/metal_inductor.py KERNELBENCH [--level 1 2] [--first 1] [--most-s 600]

KERNELBENCH is a checkout of the suite. Each problem's graph is compiled for ``mps`` with fake
tensors, which needs no Mac. The program that comes out is run with our stand-in for
``torch.mps.compile_shader``; products and convolutions are torch's own there. Its results are
compared with eager PyTorch on the CPU. Sizes are cut to a few dozen, because the emulation runs
some 100,000 threads a second. Prints a line for each problem, and the counts.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import metal_kernelbench

LIMIT_S = 300


def outcome(text: str, kept: Path | None) -> str:
    """'agrees', 'no kernel' if Inductor leaves all to torch, 'does not lower: …', or the error."""
    import torch

    from kernelwright.dialects.compile_shader import DISPATCH, install
    from kernelwright.proposers.inductor.mps import mps_program

    reference: dict[str, Any] = {"__name__": "reference"}
    exec(text, reference)
    torch.manual_seed(0)
    model = reference["Model"](*reference["get_init_inputs"]()).eval()
    inputs = reference["get_inputs"]()
    try:
        with torch.no_grad():
            wanted = model(*[x.clone() if isinstance(x, torch.Tensor) else x for x in inputs])
    except RuntimeError as error:
        return f"does not run at cut sizes: {error}"
    try:
        program, given = mps_program(model, inputs)
    except Exception as error:
        return f"does not lower: {type(error).__name__}: {str(error).strip()[:160]}"
    if kept:
        kept.write_text(program)
    n_written = program.count("kernel void ")
    install()
    made: dict[str, Any] = {"__name__": "program"}
    exec(compile(program, "program.py", "exec"), made)
    extern, convolution = made["extern_kernels"], torch.convolution
    # mps's results are contiguous, and those of the CPU are laid out as its inputs are
    extern.convolution = lambda *a, **named: convolution(*a, **named).contiguous()
    with torch.no_grad(), torch.autograd.profiler.profile(use_kineto=False) as record:
        found = made["call"](list(given))
    try:
        torch.testing.assert_close(
            tuple(found), (wanted,) if torch.is_tensor(wanted) else tuple(wanted),
            atol=1e-4, rtol=1e-4,
        )  # fmt: skip
    except AssertionError as error:
        return f"differs: {' '.join(str(error).split())[:160]}"
    events = record.function_events or []
    n_ran = len({event.name for event in events if event.name.startswith(DISPATCH)})
    return f"agrees: {n_written} kernels" if n_ran else "no kernel"


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("kernelbench", type=Path)
    words.add_argument("--level", type=int, nargs="+", default=[1, 2])
    words.add_argument("--first", type=int, default=1, help="begin with the problem of this number")
    words.add_argument("--last", type=int, default=1000)
    words.add_argument("--most-s", type=float, default=600.0)
    words.add_argument("--size", type=int, default=48, help="cut sizes to this")
    words.add_argument("--keep", type=Path, help="write each generated program to this folder")
    words.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    asked = words.parse_args()
    if asked.one:
        kept = asked.keep / asked.one.name if asked.keep else None
        metal_kernelbench.MOST = asked.size
        print(outcome(metal_kernelbench.shrunk(asked.one.read_text()), kept))
        return
    begin, counts, n_kernels = time.monotonic(), Counter[str](), 0
    for level in asked.level:
        files = (asked.kernelbench / "KernelBench" / f"level{level}").glob("*.py")
        for number, file in sorted((int(file.name.partition("_")[0]), file) for file in files):
            if not asked.first <= number <= asked.last:
                continue
            if time.monotonic() - begin > asked.most_s:
                print(f"stopped after {asked.most_s:.0f} s, before level {level} {file.name}")
                break
            said = answer(asked, file)
            counts[said.partition(":")[0]] += 1
            if said.startswith("agrees"):
                n_kernels += int(said.split()[1])
            print(f"level {level} {file.name}: {said[:220]}", flush=True)
    print(", ".join(f"{n} {what}" for what, n in counts.most_common()), f"({n_kernels} kernels)")


def answer(asked: argparse.Namespace, file: Path) -> str:
    """The last line that the problem's own process prints."""
    command = [sys.executable, __file__, str(asked.kernelbench), "--one", str(file)]
    command += ["--size", str(asked.size)]
    if asked.keep:
        asked.keep.mkdir(parents=True, exist_ok=True)
        command += ["--keep", str(asked.keep)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return f"late: more than {LIMIT_S} s"
    return ((done.stdout or done.stderr).strip().splitlines() or ["nothing"])[-1]


if __name__ == "__main__":
    main()
