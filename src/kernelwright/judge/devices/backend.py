"""One backend per kind of device: the few things in which judging on them differs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

import torch

from kernelwright.core.device import Device, require_judged
from kernelwright.judge.devices.cpu import CpuBackend
from kernelwright.judge.devices.gpu import GpuBackend
from kernelwright.judge.devices.input_poisoner import InputPoisoner


class DeviceBackend(Protocol):
    """A device, as the judge uses it."""

    name: str
    """The device's name in torch."""
    kind: str
    """The same without a number."""
    unit: str
    """Identifies the device on this machine, whatever number a process knows it by."""
    name_in_child: str
    """Its name in torch in a child, which sees no other device of the kind."""
    visibility: Mapping[str, str]
    """The environment variables that hide all other devices from a child."""
    reads_from_outside: bool
    """Whether the outputs of a stopped child can be read."""
    is_spinning: bool
    """Whether the judge polls for a child's answer: cores are plenty where there is a GPU."""
    compiles_elsewhere: bool
    """Whether compilers work on other processors than the timed ones."""
    most_judges: int | None
    """How many judges may use the device at a time; None: any number."""
    most_ahead: int
    """How many candidates one judge may build ahead."""
    batch_size: int
    """How many candidates a search builds together at most, to judge the fastest; 1: it judges
    all."""

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
        """Whether the device has done everything that stopped children had started on it."""
        ...

    def works_for(self, pid: int) -> bool:
        """Whether it has worked for this process within the last RECENT_S."""
        ...

    def works_for_others(self, meanwhile: Callable[[], None] = lambda: None) -> bool:
        """Whether it works for another process while ``meanwhile`` runs, and just after."""
        ...

    def input_poisoner(
        self, inputs: torch.Tensor, *, is_exclusive: bool, holds_device: bool
    ) -> InputPoisoner:
        """The poisoner that overwrites a call's inputs when the child signals completion.

        ``is_exclusive``: nobody else uses the device. ``holds_device``: on a GPU a kernel of the
        judge's occupies it from before the call until then; the call takes longer and is not timed.

        Shapes:
            inputs: (n_bytes,) uint8, whole pages.
        """
        ...

    def trim_cache(self) -> None:
        """Give back memory that the judge's allocator only caches, where it is much."""
        ...

    def memory_bytes(self) -> int:
        """The size of the device's memory."""
        ...

    def free_bytes(self) -> int:
        """The device memory that no process holds."""
        ...

    def last_level_cache_bytes(self) -> int:
        """The size of the largest cache."""
        ...


def backend_of(device: Device) -> DeviceBackend:
    """The backend of a device.

    Raises:
        UsageError: candidates cannot be judged on this kind of device.
    """
    require_judged(device)
    return GpuBackend(device) if device.kind == "cuda" else CpuBackend()  # emulates Apple's
