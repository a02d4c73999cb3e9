"""Where a task runs, as the judge sees it: the few things that differ between CPU and GPU."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

import psutil
import torch

from kernelwright.core.device import BUILT_TOGETHER, Device
from kernelwright.judge.machine import cpu
from kernelwright.judge.machine.spoil import Spoil, Trap
from kernelwright.judge.refusal import memory_apart

if TYPE_CHECKING:
    from kernelwright.judge.machine.gate import Gate
    from kernelwright.judge.machine.pauses import Pauses

N_PROBES, AT_ONCE_S = 8, 0.5e-3
"""Of small kernels; on an H200 one takes 0.03 ms, and 0.2 after another process's turn."""
PAUSED_NS, PAUSE_NS = 5_000_000, 50_000
"""More than a process' share of time, after which another's work is changed to: for up to 2.4 ms on
an H100. Where nobody else had any, a kernel stood still there for 64 ns at most."""
LATELY_S = 2.0
"""The driver samples what the device does several times a second."""
MOST_JUDGES = 5
"""On all GPUs together that a process sees. A host makes about three CUDA contexts a second,
however many ask for one: more judges wait longer."""
KEPT_SHARE = 0.03
"""Of a GPU's memory, that the judge's allocator may keep unused: children need the rest."""


class Place(Protocol):
    """One implementation per kind of device."""

    name: str
    """The device's name in torch."""
    kind: str
    """The same without a number."""
    unit: str
    """Which of the machine's devices it is, whatever number a process knows it by."""
    inside: str
    """Its name in torch in a child, which sees no other device of the kind."""
    sight: Mapping[str, str]
    """The variables that make a child see no other."""
    reads_from_outside: bool
    """Whether the outputs of a stopped child can be read."""
    is_spinning: bool
    """Whether the judge polls for a child's answer: cores are many where there is a GPU."""
    compiles_elsewhere: bool
    """Whether compilers work on other processors than those that are timed."""
    most_judges: int | None
    """How many may work on the device at a time; None where there is no bound."""
    most_ahead: int
    """How many candidates one of them may build ahead."""
    heat: int
    """How many a search builds together at most, to judge the fastest of them; 1: it judges all."""

    def share(self, n_bytes: int) -> tuple[int, torch.Tensor]:
        """New memory to share with a child: a file descriptor, and this side's bytes."""
        ...

    def unshare(self, memory: torch.Tensor) -> None:
        """Give the judge's side of shared memory back."""
        ...

    def settle(self) -> None:
        """Return when everything that the judge has started on the device is done."""
        ...

    def is_idle(self) -> bool:
        """Whether the device has done what stopped children had started on it."""
        ...

    def works_for(self, pid: int) -> bool:
        """Whether it has worked for this process within the last LATELY_S."""
        ...

    def works_for_others(self, meanwhile: Callable[[], None] = lambda: None) -> bool:
        """Whether it works for another process while ``meanwhile`` is done, and just after."""
        ...

    def spoil(self, inputs: torch.Tensor, *, is_alone: bool, in_ambush: bool) -> Spoil:
        """What destroys inputs at a bell, for one who may have the device to himself; on a GPU
        ``in_ambush``, if that is asked.

        Shapes:
            inputs: (n_bytes,) uint8, whole pages.
        """
        ...

    def make_room(self) -> None:
        """Give back memory that the judge's allocator only keeps, where it is much."""
        ...

    def memory_bytes(self) -> int:
        """The size of the device's memory."""
        ...

    def free_bytes(self) -> int:
        """What of the device's memory nobody holds."""
        ...

    def last_level_cache_bytes(self) -> int:
        """The size of the largest cache."""
        ...


class Cpu:
    """Host memory; a child's memory is read with process_vm_readv."""

    name = kind = unit = inside = "cpu"
    sight: Mapping[str, str] = MappingProxyType({})
    reads_from_outside = True
    is_spinning = False
    compiles_elsewhere = False
    most_judges = None
    most_ahead = 4
    heat = 1

    def share(self, n_bytes: int) -> tuple[int, torch.Tensor]:
        return cpu.share(n_bytes)

    def unshare(self, memory: torch.Tensor) -> None:
        """Nothing to do: the mapping ends with its last tensor."""

    def settle(self) -> None:
        """Nothing to do: the CPU's work is done when a call returns."""

    def is_idle(self) -> bool:
        """True: what has stopped does nothing on a CPU."""
        return True

    def works_for(self, pid: int) -> bool:
        """False: who asks has stopped the process."""
        return False

    def works_for_others(self, meanwhile: Callable[[], None] = lambda: None) -> bool:
        """False: who asks has stopped them."""
        meanwhile()
        return False

    def spoil(self, inputs: torch.Tensor, *, is_alone: bool, in_ambush: bool) -> Spoil:
        """No trap: what has stopped has nothing left that it put off."""
        return Spoil(inputs)

    def make_room(self) -> None:
        """Nothing to do: malloc's caches are small."""

    def memory_bytes(self) -> int:
        return psutil.virtual_memory().total

    def free_bytes(self) -> int:
        return psutil.virtual_memory().available

    def last_level_cache_bytes(self) -> int:
        return cpu.last_level_cache_bytes()


class Gpu:
    """Device memory; the judge's and the child's contexts take turns.

    A child sees one GPU: what it launches without saying where goes there, it has no other's
    memory, and its driver starts in 0.2 s instead of 0.9 (one of four H200s).
    """

    inside = "cuda:0"
    reads_from_outside = False
    is_spinning = True
    compiles_elsewhere = True
    most_ahead = 2
    heat = BUILT_TOGETHER

    def __init__(self, device: Device) -> None:
        from kernelwright.judge.machine import gpu

        self._gpu = gpu
        self.index = device.index
        self.most_judges = max(1, MOST_JUDGES // max(1, torch.cuda.device_count()))
        self.name = device.torch_name
        self.kind = self.name.partition(":")[0]
        self.unit = gpu.unit(self.index)
        self.sight = {gpu.SEEN: gpu.seen_as(self.index)}
        self._pauses: Pauses | None = None
        self._gate: Gate | None = None

    def share(self, n_bytes: int) -> tuple[int, torch.Tensor]:
        self.make_room()
        return self._gpu.share(n_bytes, self.index)

    def unshare(self, memory: torch.Tensor) -> None:
        self._gpu.unmap(memory)

    def settle(self) -> None:
        torch.cuda.synchronize(self.index)

    def is_idle(self) -> bool:
        """Whether a small kernel is done at once, time after time: another process's work would
        make it wait for its share of time, which is some milliseconds."""
        for _ in range(N_PROBES):
            start_s = time.perf_counter()
            torch.zeros(1, device=self.name)
            torch.cuda.synchronize(self.index)
            if time.perf_counter() - start_s > AT_ONCE_S:
                return False
            time.sleep(AT_ONCE_S)
        return True

    def works_for(self, pid: int) -> bool:
        """As the driver tells; where it knows processes by other numbers than ours, nothing."""
        from kernelwright.judge.machine import nvml

        with contextlib.suppress(nvml.Unknown):
            return nvml.works_for(self.index, pid, since_s=time.time() - LATELY_S)
        return False

    def works_for_others(self, meanwhile: Callable[[], None] = lambda: None) -> bool:
        """Seen by the longest pause of a kernel of the judge's own. It runs beside ``meanwhile``,
        from before: what waits for that to be done finds the device idle for no moment."""
        from kernelwright.judge.machine.pauses import Pauses

        self._pauses = self._pauses or Pauses(self.index)
        self._pauses.start(PAUSED_NS)
        meanwhile()
        return self._pauses.longest_ns() > PAUSE_NS

    def spoil(self, inputs: torch.Tensor, *, is_alone: bool, in_ambush: bool) -> Spoil:
        if not is_alone:
            return Spoil(inputs, self.settle)
        from kernelwright.judge.machine.gate import Gate

        self._gate = self._gate or Gate(self.index)
        return Trap(inputs, self._gate, in_ambush=in_ambush)

    def make_room(self) -> None:
        told = torch.cuda.memory_stats_as_nested_dict(self.index)  # all at once: before every call
        reserved, used = told["reserved_bytes"], told["allocated_bytes"]
        kept = reserved["all"]["current"] - used["all"]["current"]
        if kept > self.memory_bytes() * KEPT_SHARE:
            torch.cuda.empty_cache()

    def memory_bytes(self) -> int:
        return torch.cuda.get_device_properties(self.index).total_memory

    def free_bytes(self) -> int:
        try:
            with memory_apart():
                return torch.cuda.mem_get_info(self.index)[0]
        except MemoryError:
            return 0  # a context of the judge's own finds no room

    def last_level_cache_bytes(self) -> int:
        return self._gpu.last_level_cache_bytes(self.index)


def place_of(device: Device) -> Place:
    """The place of a device.

    Raises:
        KeyError: a kind that the judge cannot measure.
    """
    return Cpu() if device.kind == "cpu" else {"cuda": Gpu}[device.kind](device)
