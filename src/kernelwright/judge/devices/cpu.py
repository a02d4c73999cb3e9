"""Judging on a CPU: memory that both processes map; the judge reads outputs from outside."""

from __future__ import annotations

import fcntl
import mmap
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import psutil
import torch

from kernelwright.judge.devices.input_poisoner import InputPoisoner

SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
DEFAULT_CACHE_BYTES = 32 << 20  # where the kernel does not say


class CpuBackend:
    """Host memory; the judge reads a child's memory with process_vm_readv."""

    name = kind = unit = name_in_child = "cpu"
    visibility: Mapping[str, str] = MappingProxyType({})
    reads_from_outside = True
    is_spinning = False
    compiles_elsewhere = False
    most_judges = None
    most_ahead = 4
    batch_size = 1

    def share(self, n_bytes: int) -> tuple[int, torch.Tensor]:
        return share(n_bytes)

    def unshare(self, memory: torch.Tensor) -> None:
        """Do nothing: the mapping ends with its last tensor."""

    def settle(self) -> None:
        """Do nothing: the CPU's work is done when a call returns."""

    def is_idle(self) -> bool:
        """True: a stopped process does nothing on a CPU."""
        return True

    def works_for(self, pid: int) -> bool:
        """False: the caller has stopped the process."""
        return False

    def works_for_others(self, meanwhile: Callable[[], None] = lambda: None) -> bool:
        """False: the caller has stopped the others."""
        meanwhile()
        return False

    def input_poisoner(
        self, inputs: torch.Tensor, *, is_exclusive: bool, holds_device: bool
    ) -> InputPoisoner:
        """One that overwrites them itself: a stopped process has no work left on a CPU."""
        return InputPoisoner(inputs)

    def trim_cache(self) -> None:
        """Do nothing: malloc's caches are small."""

    def memory_bytes(self) -> int:
        return psutil.virtual_memory().total

    def free_bytes(self) -> int:
        return psutil.virtual_memory().available

    def last_level_cache_bytes(self) -> int:
        """The size of the last-level cache, as the kernel reports it."""
        sizes = []
        for path in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"):
            text = path.read_text().strip()
            sizes.append(int(text[:-1]) * {"K": 1 << 10, "M": 1 << 20}[text[-1]])
        return max(sizes, default=DEFAULT_CACHE_BYTES)


def share(n_bytes: int) -> tuple[int, torch.Tensor]:
    """New memory to share: a file descriptor for the child, and this side's view in bytes."""
    fd = os.memfd_create("arguments", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, max(n_bytes, mmap.PAGESIZE))
    # A child that could shrink the file would crash the judge at its next write.
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, SEALS)
    return fd, map_shared(fd)


def map_shared(fd: int) -> torch.Tensor:
    """The bytes of memory that ``share`` made."""
    memory = mmap.mmap(fd, 0, flags=mmap.MAP_SHARED | mmap.MAP_POPULATE)
    return torch.frombuffer(memory, dtype=torch.uint8)


def spread_threads() -> None:
    """Start the OpenMP pool and give each of its threads a core of its own, from the second on.

    The main thread finds the first one free. It is not bound to it, because threads that a
    candidate starts inherit its cores.
    """
    before = set(os.listdir("/proc/self/task"))
    torch.zeros(1 << 20).add_(1)
    started = sorted(map(int, set(os.listdir("/proc/self/task")) - before))
    cores = sorted(os.sched_getaffinity(0))
    for number, thread in enumerate(started, start=1):
        os.sched_setaffinity(thread, {cores[number % len(cores)]})
