"""Profiles the reference: the time of each operator."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, wraps
from typing import Any, ParamSpec, TypeVar

from kernelwright.core.device import Device
from kernelwright.core.task import Task
from kernelwright.loaders import open_reference

P = ParamSpec("P")
T = TypeVar("T")
Seen = tuple[str, str, int, float]
"""An operator, the shapes of its arguments, its number of calls, and their total microseconds."""

N_CALLS = 3
N_ROWS = 10
SEED = 0  # times depend little on the values
_TURN = threading.Lock()


@dataclass(frozen=True)
class OperatorTime:
    """One operator of the reference, over all calls of it in one forward pass."""

    name: str
    n_calls: int
    share: float
    """Share of the time that the pass spends inside operators."""
    time_us: float
    shapes: str


def profile(task: Task, device: Device) -> tuple[OperatorTime, ...]:
    """Return the operators that take the most time, the slowest first; empty if there are none.

    Not covered:
        What happens inside an operator (caches, occupancy), which needs the vendor's tools.
    """
    return _profile(task, device)


def one_at_a_time(function: Callable[P, T]) -> Callable[P, T]:
    """Let only one thread at a time call ``function``.

    torch can run only one profiler, and all threads of a round may ask for the same profile.
    """

    @wraps(function)
    def alone(*args: P.args, **kwargs: P.kwargs) -> T:
        with _TURN:
            return function(*args, **kwargs)

    return alone


@one_at_a_time
@lru_cache(maxsize=8)
def _profile(task: Task, device: Device) -> tuple[OperatorTime, ...]:
    import torch

    reference = open_reference(task)
    module = reference.build(SEED).to(device.torch_name)
    inputs = reference.inputs(SEED, device.torch_name)
    with torch.no_grad():
        module(*inputs)
        seen = (
            _kernels(module, inputs) if device.kind in ("cuda", "hip") else _calls(module, inputs)
        )
    whole = sum(time_us for _, _, _, time_us in seen)
    slowest = sorted((each for each in seen if each[3] > 0), key=lambda each: -each[3])[:N_ROWS]
    return tuple(
        OperatorTime(name, n_calls // N_CALLS, time_us / whole, time_us / N_CALLS, shapes)
        for name, shapes, n_calls, time_us in slowest
    )


def _kernels(module: Any, inputs: list[Any]) -> list[Seen]:
    """Measure the device time of operators with torch's profiler."""
    from torch.profiler import ProfilerActivity, profile

    activities = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    with profile(activities=activities, record_shapes=True) as seen:
        for _ in range(N_CALLS):
            module(*inputs)
    return [
        (e.key, str([s for s in e.input_shapes if s]), e.count, e.self_device_time_total)
        for e in seen.key_averages(group_by_input_shape=True)
    ]


def _calls(module: Any, inputs: list[Any]) -> list[Seen]:
    """Measure the CPU time of operators with a clock around each call.

    torch's profiler would write to stderr and take seconds to start.
    """
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    spent: dict[tuple[str, str], list[float]] = {}

    class Clock(TorchDispatchMode):
        def __torch_dispatch__(
            self, function: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            began = time.perf_counter()
            result = function(*args, **(kwargs or {}))
            shapes = [list(a.shape) for a in args if isinstance(a, torch.Tensor)]
            key = (function.name().partition(".")[0], str(shapes))
            spent.setdefault(key, []).append((time.perf_counter() - began) * 1e6)
            return result

    with Clock():  # type: ignore[no-untyped-call]  # torch annotates no constructor of modes
        for _ in range(N_CALLS):
            module(*inputs)
    return [(name, shapes, len(times), sum(times)) for (name, shapes), times in spent.items()]
