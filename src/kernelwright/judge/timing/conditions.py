"""Clocks and neighbours while something is timed. They are reported; nothing is decided by them.

It costs two scans of the table of processes, some milliseconds each.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable
from typing import Any

import psutil
import torch

from kernelwright.core.conditions import Conditions
from kernelwright.core.outcome import Warned, WarningCode
from kernelwright.judge.devices import nvml
from kernelwright.judge.devices.backend import DeviceBackend
from kernelwright.judge.sandbox.processes import below, processor_s

MUCH = 0.1
"""A warning names neighbours that take a larger share of a processor's time. Times are counted in
hundredths of a second, which is up to 0.03 of the shortest rounds."""


class ConditionsWatch:
    """Records the state of the machine when it is made, and once more at the end.

    Neighbours are all processes but this one, those with the numbers ``ours``, and all below them.

    Not covered:
        A process of ours that ends in between, and that no process waits for, counts as a
        neighbour.
    """

    def __init__(self, backend: DeviceBackend, ours: Iterable[int] = ()) -> None:
        self._ours = (os.getpid(), *ours)
        self._gpu = torch.device(backend.name).index if backend.kind == "cuda" else None
        self._unit = backend.unit
        self._cores = sorted(os.sched_getaffinity(0))
        self._start_s = time.time()
        self._busy_s, self._own_s = _busy_s(self._cores), processor_s(*self._ours)
        self._before = self._facts()

    def end(self) -> Conditions:
        """The conditions since then."""
        took_s = (time.time() - self._start_s) * len(self._cores)
        busy_s = _busy_s(self._cores) - self._busy_s
        own_s = max(0.0, processor_s(*self._ours) - self._own_s)
        # No busy core at all: the machine does not count, for it ran this very program.
        is_known = busy_s > 0 and took_s > 0
        share = min(1.0, max(0.0, (busy_s - own_s) / took_s)) if is_known else None
        return Conditions(
            neighbour_share=share,
            gpu_neighbour_share=self._gpu_share(),
            before=self._before,
            after=self._facts(),
        )

    def _facts(self) -> dict[str, Any]:
        facts = core_clocks(self._cores)
        if self._gpu is not None:
            facts["gpu"] = self._unit
            with contextlib.suppress(nvml.Unknown):
                facts |= nvml.facts(self._gpu, {*self._ours, *below(*self._ours)})
        return facts

    def _gpu_share(self) -> float | None:
        if self._gpu is None:
            return None
        own = {*self._ours, *below(*self._ours)}
        with contextlib.suppress(nvml.Unknown):
            return nvml.share_of_others(self._gpu, own, since_s=self._start_s)
        return None


def complaints(conditions: Conditions) -> list[Warned]:
    """Warnings about neighbours that took a good part of the machine."""
    shares = {
        "of the processor's time": conditions.neighbour_share,
        "of the GPU's time": conditions.gpu_neighbour_share,
    }
    return [
        Warned(WarningCode.NEIGHBOURS, f"other programs took {share:.0%} {what} while it was timed")
        for what, share in shares.items()
        if share is not None and share > MUCH
    ]


def core_clocks(cores: list[int]) -> dict[str, Any]:
    """The clocks of the slowest and the fastest core; a virtual machine may give its host's nominal
    clock, or none."""
    with contextlib.suppress(OSError, NotImplementedError, AttributeError):
        clocks = psutil.cpu_freq(percpu=True)
        mhz = [clocks[core].current for core in cores if core < len(clocks)]
        if any(mhz):
            return {"core_mhz": [round(min(mhz)), round(max(mhz))]}
    return {}


def _busy_s(cores: list[int]) -> float:
    """The seconds for which these cores have worked, or were taken away by a hypervisor."""
    counted = psutil.cpu_times(percpu=True)
    busy_s = 0.0
    for one in (counted[core] for core in cores if core < len(counted)):
        # The kernel counts the time of virtual machines twice (man 5 proc_stat).
        busy_s += sum(one) - one.idle - one.iowait - one.guest - one.guest_nice
    return busy_s
