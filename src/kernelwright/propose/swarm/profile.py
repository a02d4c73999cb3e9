"""Where the reference spends its time: torch's profiler, operator by operator."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from kernelwright.core.device import Device
from kernelwright.core.task import Task
from kernelwright.load import open_reference

N_CALLS = 3
N_ROWS = 10
SEED = 0  # times depend little on the values


@dataclass(frozen=True)
class Row:
    """One operator of the reference, over all calls of it in one forward pass."""

    name: str
    n_calls: int
    share: float
    """Of the time that the pass spends in operators themselves."""
    time_us: float
    shapes: str


@lru_cache(maxsize=8)
def profile(task: Task, device: Device) -> tuple[Row, ...]:
    """The operators that take the most time, the first the slowest; empty where none is seen.

    Not covered: what an operator does inside (caches, occupancy); that takes the vendor's tools.
    """
    import torch
    from torch.profiler import ProfilerActivity

    reference = open_reference(task)
    module = reference.build(SEED).to(device.torch_name)
    inputs = reference.inputs(SEED, device.torch_name)
    activities = [ProfilerActivity.CPU]
    if device.kind in ("cuda", "hip"):
        activities.append(ProfilerActivity.CUDA)
    with torch.no_grad():
        module(*inputs)
        with torch.profiler.profile(activities=activities, record_shapes=True) as seen:
            for _ in range(N_CALLS):
                module(*inputs)
    on_device = len(activities) > 1
    events = [
        (event, event.self_device_time_total if on_device else event.self_cpu_time_total)
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
