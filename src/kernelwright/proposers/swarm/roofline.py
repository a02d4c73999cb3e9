"""Compares a kernel with the roofline: the memory traffic and the arithmetic that a task needs.

Source:
    Williams, Waterman, Patterson 2009, Roofline: an insightful visual performance model, CACM 52.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from kernelwright.core.candidate import Proposal
from kernelwright.core.device import Device
from kernelwright.core.evaluation import Evaluation
from kernelwright.core.task import Task
from kernelwright.loaders import open_reference
from kernelwright.loaders.flops import attention_formulas
from kernelwright.loaders.plain import weights_of
from kernelwright.proposers.swarm.profile import SEED, one_at_a_time

COPY_BYTES = {"cpu": 64 << 20}
"""Bytes to copy, by kind of device: twice the last-level cache of one core of most servers."""
COPY_BYTES_ELSEWHERE = 256 << 20
"""Bytes to copy on other devices: five times the cache of an H100."""
N_COPIES = 3


@dataclass(frozen=True)
class Work:
    """The minimum work of one call of a task."""

    least_bytes: int
    """Bytes to read every input and weight once and to write every output once."""
    flops: float
    """Floating-point operations of matrix products and convolutions, without pointwise ones."""
    copy_bytes_per_s: float
    """Bytes per second, read and written together, of a copy that exceeds the device's caches."""

    @property
    def floor_us(self) -> float:
        """Microseconds that moving ``least_bytes`` takes at the speed of a copy."""
        return self.least_bytes / self.copy_bytes_per_s * 1e6


@dataclass(frozen=True)
class RooflinePosition:
    """One timed series of a verdict, compared with the minimum work."""

    name: str
    time_us: float
    share: float
    """Throughput as a share of a copy's; above 1 if the data fits into caches."""
    gflops_per_s: float


def position(
    task: Task, device: Device, parent: tuple[Proposal, Evaluation] | None
) -> dict[str, Any]:
    """Return the task's work, and the positions of a verdict's series: candidate, then library."""
    work = _work(task, device)
    timing = parent[1].timing if parent else None
    times = {name: timing.median_ns(name) / 1e3 for name in timing.samples_ns} if timing else {}
    return {
        "work": work,
        "positions": [
            RooflinePosition(name, us, work.floor_us / us, work.flops / us / 1e3)
            for name, us in times.items()
        ],
    }


@one_at_a_time
@lru_cache(maxsize=8)
def _work(task: Task, device: Device) -> Work:
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    reference = open_reference(task)
    module = reference.build(SEED).to(device.torch_name)
    inputs = reference.inputs(SEED, device.torch_name)
    with (
        torch.no_grad(),
        FlopCounterMode(display=False, custom_mapping=attention_formulas()) as counter,
    ):
        outputs = module(*inputs)
    moved = {t.data_ptr(): t.nbytes for t in (*_tensors(inputs), *weights_of(module).values())}
    written = sum(t.nbytes for t in _tensors(outputs))
    return Work(sum(moved.values()) + written, counter.get_total_flops(), _copy_bytes_per_s(device))


@lru_cache(maxsize=4)
def _copy_bytes_per_s(device: Device) -> float:
    import torch

    n_bytes = COPY_BYTES.get(device.kind, COPY_BYTES_ELSEWHERE)
    source = torch.zeros(n_bytes, dtype=torch.uint8, device=device.torch_name)
    target = torch.empty_like(source)
    best_s = float("inf")
    for _ in range(N_COPIES):
        _settle(device)
        began = time.perf_counter()
        target.copy_(source)
        _settle(device)
        best_s = min(best_s, time.perf_counter() - began)
    return 2 * n_bytes / best_s


def _settle(device: Device) -> None:
    import torch

    if device.kind in ("cuda", "hip"):
        torch.cuda.synchronize(device.torch_name)


def _tensors(value: Any) -> Iterator[Any]:
    """Return the tensors in an argument or a result, however they are nested."""
    import torch
    from torch.utils._pytree import tree_leaves

    return (leaf for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor))
