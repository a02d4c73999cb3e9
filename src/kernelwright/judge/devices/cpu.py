"""Judging on a CPU: both processes map the same memory; the judge reads outputs from outside."""

from __future__ import annotations

import ctypes
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
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # malloc.h
LARGEST_KEPT_BYTES = 32 << 20
DEFAULT_CACHE_BYTES = 32 << 20  # where the kernel does not say


class CpuBackend:
    """A device, as the judge uses it; this class answers for the CPU, where stopped processes do
    nothing."""

    name = "cpu"
    """The device's name in torch."""
    kind = "cpu"
    """The same without a number."""
    unit = "cpu"
    """Identifies the device on this machine, whatever number a process knows it by."""
    name_in_child = "cpu"
    """Its name in torch in a child, which sees no other device of the kind."""
    visibility: Mapping[str, str] = MappingProxyType({})
    """The environment variables that hide all other devices from a child."""
    reads_from_outside = True
    """True if the outputs of a stopped child can be read."""
    is_spinning = False
    """True if the judge polls for a child's answer: cores are plenty where there is a GPU."""
    times_windows = False
    """True if many short calls are timed in one window. On a CPU too few intervals of a module
    against itself held 1 where they were (ADR 019)."""
    compiles_elsewhere = False
    """True if compilers work on other processors than the timed ones."""
    most_judges: int | None = None
    """The number of judges that may use the device at a time; None: any number."""
    most_ahead = 4
    """The number of candidates that one judge may build ahead."""
    batch_size = 1
    """The number of candidates that a search builds together, to judge the fastest; 1: it judges
    all."""

    def share(self, n_bytes: int) -> tuple[int, torch.Tensor]:
        """New memory to share with a child: a file descriptor, and this side's bytes."""
        return share(n_bytes)

    def unshare(self, memory: torch.Tensor) -> None:
        """Give the judge's side of shared memory back, unless it goes with its last tensor."""

    def settle(self) -> None:
        """Return when everything that the judge has started on the device is done."""

    def is_idle(self) -> bool:
        """True if the device has done everything that stopped children had started on it."""
        return True

    def works_for(self, pid: int) -> bool:
        """True if it has lately worked for this process, which the caller has stopped."""
        return False

    def works_for_others(self, meanwhile: Callable[[], None] = lambda: None) -> bool:
        """True if it works for another process while ``meanwhile`` runs, and just after."""
        meanwhile()
        return False

    def input_poisoner(
        self, inputs: torch.Tensor, *, is_exclusive: bool, holds_device: bool
    ) -> InputPoisoner:
        """The poisoner that overwrites a call's inputs when the child signals completion.

        ``is_exclusive``: nobody else uses the device. ``holds_device``: on a GPU a kernel of the
        judge's occupies it from before the call until then; the call takes longer and is not timed.

        Shapes:
            inputs: (n_bytes,) uint8, whole pages.
        """
        return InputPoisoner(inputs)

    def trim_cache(self) -> None:
        """Give back memory that the judge's allocator only caches, where it is much."""

    def memory_bytes(self) -> int:
        """The size of the device's memory."""
        return psutil.virtual_memory().total

    def free_bytes(self) -> int:
        """The device memory that no process holds."""
        return psutil.virtual_memory().available

    def last_level_cache_bytes(self) -> int:
        """The size of the largest cache."""
        sizes = []
        for path in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"):
            text = path.read_text().strip()
            sizes.append(int(text[:-1]) * {"K": 1 << 10, "M": 1 << 20}[text[-1]])
        return max(sizes, default=DEFAULT_CACHE_BYTES)


def share(n_bytes: int) -> tuple[int, torch.Tensor]:
    """New host memory to share: a file descriptor for the child, and this side's bytes."""
    fd = os.memfd_create("arguments", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, max(n_bytes, mmap.PAGESIZE))
    # A child that could shrink the file would crash the judge at its next write.
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, SEALS)
    return fd, map_shared(fd)


def map_shared(fd: int) -> torch.Tensor:
    """The bytes of memory that ``share`` made."""
    memory = mmap.mmap(fd, 0, flags=mmap.MAP_SHARED | mmap.MAP_POPULATE)
    return torch.frombuffer(memory, dtype=torch.uint8)


def keep_freed_memory() -> None:
    """Have the C library keep memory that is freed, as it does by itself where results of one size
    come and go: those of a window go all at once, and would be taken from Linux anew every time.

    Source:
        mallopt(3): the threshold for mmap grows to 32 MB at most, with the largest block freed.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, LARGEST_KEPT_BYTES)
        mallopt(M_TRIM_THRESHOLD, 2**31 - 1)


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
