"""Functions that run a forward's steps: a CUDA graph, or the library's search among its
algorithms."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kernelwright.compiler.codegen.base import Schedule, Target
from kernelwright.compiler.codegen.gpu import replay
from kernelwright.compiler.ir.ir import Call, Program

SEARCH = '''\
def searched(work, steps, inputs):
    """Return ``steps(*inputs)``; at a shape's first call the library tries its algorithms."""
    before = torch.backends.cudnn.benchmark
    torch.backends.cudnn.benchmark = True
    try:
        return steps(*inputs)
    finally:
        torch.backends.cudnn.benchmark = before
'''


def around_steps(schedule: Schedule) -> tuple[str, str]:
    """Return the definitions that run the steps as ``schedule`` asks, and the runner's name."""
    if schedule.get("graph"):
        return replay.REPLAY, replay.RUNNER
    return (SEARCH, "searched") if schedule.get("search") else ("", "")


def searches(program: Program, target: Target, *, least: int = 1) -> bool:
    """Return whether the library has a choice of algorithms: it runs a convolution of ``least`` or
    more dimensions on a GPU."""
    called = [step.target for step in program.steps if isinstance(step, Call)]
    found = [n for n in range(least, 4) for name in called if re.search(rf"\.conv\w*{n}d", name)]
    return target.device.startswith("cuda") and bool(found)


def with_search(
    schedules: Iterator[Schedule], program: Program, target: Target
) -> Iterator[Schedule]:
    """Yield ``schedules``; if the library has a choice of algorithms, each is preceded by a variant
    that searches among them.

    On an H200 the search gained 1.3 to 4 times on 6 of 31 convolutions, all in three dimensions,
    and took 0.1 to 3 s at the first call.
    """
    can_search = searches(program, target)
    for schedule in schedules:
        if can_search and "graph" not in schedule:
            yield {**schedule, "search": True}
        yield schedule
