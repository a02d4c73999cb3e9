"""Who does the work of a suite: processes on this machine, or the nodes of a cluster."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from kernelwright.core.device import Device
from kernelwright.core.errors import DeviceError
from kernelwright.core.settings import Settings
from kernelwright.dialects.devices import resolve
from kernelwright.judge import SharedForkServer, SharedForkServerProcess
from kernelwright.judge.devices.backend import backend_of
from kernelwright.judge.devices.environment import Here
from kernelwright.workers.in_process import Ending, in_process
from kernelwright.workers.residents import LocalResident, Resident
from kernelwright.workers.slots import WHOLE_MACHINE, FreeSlots, WorkerSlot

OnStep = Callable[[Any], None]


class WorkersLost(DeviceError):
    """No more work can be run, whatever it is."""


@dataclass(frozen=True)
class Target:
    """Where the work is done: what a time depends on, and what fits there."""

    device: Device
    here: Here
    memory_bytes: int | None = None
    """The memory of one device; None where no task is too large to run beside another."""

    @classmethod
    def of(cls, settings: Settings, n_cores: int = 0) -> Target:
        """Describe this machine's device for work on ``n_cores`` cores; 0: all of this process.

        Raises:
            DeviceError: this machine has no such device.
        """
        device = resolve(Device.parse(settings.device))
        backend = backend_of(device)
        n_bytes = None if backend.most_judges is None else backend.memory_bytes()
        return cls(device, Here.of(device, settings, n_cores=n_cores), n_bytes)


class Workers(Protocol):
    """Runs pieces of work, each in a process of its own, with a device and cores to itself."""

    jobs: int
    """How many pieces are worth running side by side."""
    gpus: tuple[int, ...]
    """The numbers of this machine's GPUs that they use."""
    n_devices: int
    """How many devices they use, here or elsewhere."""

    def __enter__(self) -> Any: ...

    def __exit__(self, *error: object) -> None: ...

    def target(self, settings: Settings) -> Target:
        """Describe where the work is done.

        Raises:
            DeviceError: no such device there, or the nodes of a cluster differ.
            UsageError: the archive of these settings cannot be reached from there.
        """

    def run(
        self,
        work: Callable[..., Any],
        *,
        on_step: OnStep | None = None,
        limit_s: float | None = None,
        preload: Sequence[str] = (),
        needs_device: bool = True,
    ) -> Ending:
        """Run ``work(fork_server=...)`` when there is room, and return how it ended; see
        ``in_process``. Work that needs no device waits for none.

        Raises:
            WorkersLost: the head of the cluster is gone.
        """

    def resident(self, begin: Callable[..., Any], *arguments: Any) -> Resident:
        """Begin a process that stays, and that calls ``begin`` once before anything else."""

    def interrupt(self) -> None:
        """End all work as Ctrl-C does."""


class LocalWorkers:
    """Processes on this machine: one for each slot at a time."""

    def __init__(
        self, slots: Sequence[WorkerSlot] = (WHOLE_MACHINE,), *, gpus: tuple[int, ...] = ()
    ) -> None:
        self.jobs = len(slots)
        self.gpus = gpus
        self.n_devices = max(1, len(gpus))
        self._n_cores = len(slots[0].cores)
        self._free = FreeSlots(slots)
        self._stack = contextlib.ExitStack()
        self._opening = threading.Lock()

    def __enter__(self) -> LocalWorkers:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    @functools.cached_property
    def _fork_server(self) -> SharedForkServer:
        return self._stack.enter_context(SharedForkServerProcess())

    def target(self, settings: Settings) -> Target:
        return Target.of(settings, self._n_cores)

    def run(
        self,
        work: Callable[..., Any],
        *,
        on_step: OnStep | None = None,
        limit_s: float | None = None,
        preload: Sequence[str] = (),
        needs_device: bool = True,
    ) -> Ending:
        with self._opening:  # by the first work, since residents need none
            fork_server = self._fork_server
        room = self._free.take() if needs_device else contextlib.nullcontext(WHOLE_MACHINE)
        with room as slot:
            return in_process(
                work,
                fork_server=fork_server,
                slot=slot,
                on_step=on_step,
                limit_s=limit_s,
                preload=preload,
            )

    def resident(self, begin: Callable[..., Any], *arguments: Any) -> Resident:
        return LocalResident(begin, *arguments)

    def interrupt(self) -> None:
        """Nothing: the processes are in this one's group, which Ctrl-C reaches."""
