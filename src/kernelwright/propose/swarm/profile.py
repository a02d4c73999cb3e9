"""Where the reference spends its time: torch's profiler, operator by operator."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import lru_cache, wraps
from typing import Any, ParamSpec, TypeVar

from kernelwright.core.device import Device
from kernelwright.core.task import Task
from kernelwright.load import open_reference

P = ParamSpec("P")
T = TypeVar("T")

N_CALLS = 3
N_ROWS = 10
SEED = 0  # times depend little on the values
_TURN = threading.Lock()


@dataclass(frozen=True)
class Row:
    """One operator of the reference, over all calls of it in one forward pass."""

    name: str
    n_calls: int
    share: float
    """Of the time that the pass spends in operators themselves."""
    time_us: float
    shapes: str


def profile(task: Task, device: Device) -> tuple[Row, ...]:
    """The operators that take the most time, the first the slowest; empty where none is seen.

    Not covered: what an operator does inside (caches, occupancy); that takes the vendor's tools.
    """
    return _profile(task, device)


def one_at_a_time(function: Callable[P, T]) -> Callable[P, T]:
    """``function`` for one thread at a time: torch profiles no more, and every thread of a round
    may ask for the same."""

    @wraps(function)
    def alone(*args: P.args, **kwargs: P.kwargs) -> T:
        with _TURN:
            return function(*args, **kwargs)

    return alone


@one_at_a_time
@lru_cache(maxsize=8)
def _profile(task: Task, device: Device) -> tuple[Row, ...]:
    import torch

    reference = open_reference(task)
    module = reference.build(SEED).to(device.torch_name)
    inputs = reference.inputs(SEED, device.torch_name)
    is_gpu = device.kind in ("cuda", "hip")
    with torch.no_grad():
        module(*inputs)
        with _profiler(is_gpu) as seen:
            for _ in range(N_CALLS):
                module(*inputs)
    events = [
        (event, event.self_device_time_total if is_gpu else event.self_cpu_time_total)
        for event in seen.key_averages(group_by_input_shape=True)
    ]
    whole = sum(time for _, time in events)
    slowest = sorted((e for e in events if e[1] > 0), key=lambda e: -e[1])[:N_ROWS]
    return tuple(
        Row(
            name=event.key,
            n_calls=event.count // N_CALLS,
            share=time / whole,
            time_us=time / N_CALLS,
            shapes=str([shape for shape in event.input_shapes if shape]),
        )
        for event, time in slowest
    )


def _profiler(is_gpu: bool) -> AbstractContextManager[Any]:
    """Kineto sees kernels on a GPU; on the CPU it only adds complaints about threads to stderr."""
    import torch
    from torch.profiler import ProfilerActivity

    if is_gpu:
        activities = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
        return torch.profiler.profile(activities=activities, record_shapes=True)
    return torch.autograd.profiler.profile(use_kineto=False, record_shapes=True)
