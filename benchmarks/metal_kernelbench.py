"""For how many problems of KernelBench rules give a right kernel in MSL, emulated on this CPU.

    python benchmarks/metal_kernelbench.py KERNELBENCH [--level 1] [--first 19] [--most-s 600]

KERNELBENCH is a checkout of the suite. Sizes are cut to a few dozen, because the emulation runs
some 100,000 threads a second. Each problem's first candidate is run on the problem's own inputs and
compared with eager PyTorch; it is not judged. Prints a line for each problem, and the counts.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

MOST, MOST_IN_BATCH = 48, 3
LIMIT_S = 120
_SIZE = re.compile(r"^(\w+)( *= *)(\d+)\b", re.MULTILINE)


def shrunk(text: str) -> str:
    """The problem with its module-level sizes cut."""

    def cut(match: re.Match[str]) -> str:
        most = MOST_IN_BATCH if "batch" in match[1] else MOST
        return f"{match[1]}{match[2]}{min(int(match[3]), most)}"

    return _SIZE.sub(cut, text)


def outcome(text: str) -> str:
    """'right', 'wrong …', 'no kernel' if rules leave all to PyTorch, or the error."""
    import torch

    from kernelwright.core.candidate import Brief
    from kernelwright.core.device import Device
    from kernelwright.core.task import Task
    from kernelwright.dialects.compile_shader import DISPATCH, install
    from kernelwright.dialects.devices import resolve
    from kernelwright.proposers.rules import RulesProposer

    brief = Brief(Task("problem", "kernelbench", text), resolve(Device("metal")), ("metal",))
    proposal = next(iter(RulesProposer().propose(brief)), None)
    if proposal is None:
        return "no kernel"
    reference: dict[str, object] = {"__name__": "reference"}
    exec(text, reference)
    torch.manual_seed(0)
    model = reference["Model"](*reference["get_init_inputs"]()).eval()
    inputs = reference["get_inputs"]()
    with torch.no_grad():
        wanted = model(*[x.clone() if isinstance(x, torch.Tensor) else x for x in inputs])
    install()
    candidate: dict[str, object] = {"__name__": "candidate"}
    exec(compile(proposal.candidate.source, "candidate.py", "exec"), candidate)
    torch.manual_seed(0)
    made = candidate["ModelNew"](*reference["get_init_inputs"]()).eval()
    made.load_state_dict(model.state_dict(), strict=False)
    with torch.no_grad(), torch.autograd.profiler.profile(use_kineto=False) as record:
        found = made(*inputs)
    try:
        torch.testing.assert_close(found, wanted, atol=1e-4, rtol=1e-4)
    except AssertionError as error:
        return f"wrong: {str(error).splitlines()[0]}"
    ran = [event.name for event in record.function_events or []]
    return "right" if any(name.startswith(DISPATCH) for name in ran) else "no kernel ran"


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("kernelbench", type=Path)
    words.add_argument("--level", type=int, default=1)
    words.add_argument("--first", type=int, default=1, help="begin with the problem of this number")
    words.add_argument("--most-s", type=float, default=600.0)
    words.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    asked = words.parse_args()
    if asked.one:
        print(outcome(shrunk(asked.one.read_text())))
        return
    files = (asked.kernelbench / "KernelBench" / f"level{asked.level}").glob("*.py")
    numbered = sorted((int(file.name.partition("_")[0]), file) for file in files)
    begin, counts = time.monotonic(), Counter[str]()
    for number, file in numbered:
        if number < asked.first:
            continue
        if time.monotonic() - begin > asked.most_s:
            print(f"stopped after {asked.most_s:.0f} s, before {file.name}")
            break
        command = [sys.executable, __file__, str(asked.kernelbench), "--one", str(file)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
            said = (done.stdout or done.stderr).strip().splitlines() or ["nothing"]
        except subprocess.TimeoutExpired:
            said = [f"late: more than {LIMIT_S} s"]
        counts[said[-1].partition(":")[0]] += 1
        print(f"{file.name}: {said[-1][:150]}", flush=True)
    print(", ".join(f"{n} {what}" for what, n in counts.most_common()))


if __name__ == "__main__":
    main()
