"""A device with its lock and the processes that use it: candidates are judged there."""

from __future__ import annotations

from dataclasses import dataclass

from kernelwright.core.device import Device
from kernelwright.judge.devices import environment
from kernelwright.judge.devices.backend import DeviceBackend, backend_of
from kernelwright.judge.sandbox.fork_server import SharedForkServer
from kernelwright.judge.sandbox.runner_factory import RunnerFactory
from kernelwright.judge.scheduling.device_lock import DeviceLock


@dataclass(frozen=True)
class Machine:
    """One judge's access to a device."""

    backend: DeviceBackend
    device_lock: DeviceLock
    factory: RunnerFactory
    threads: int
    """The number of threads a child's call may use."""

    @classmethod
    def of(
        cls, device: Device, *, threads: int, fork_server: SharedForkServer | None = None
    ) -> Machine:
        """The access to ``device``; ``threads``: 0 for all cores.

        Raises:
            UsageError: candidates cannot be judged on this kind of device, or there are not as many
                cores.
        """
        backend, threads = backend_of(device), environment.resolve_threads(threads)
        return cls(
            backend,
            DeviceLock(backend.unit, backend.is_idle, backend.works_for),
            RunnerFactory(device, backend, threads=threads, shared=fork_server),
            threads,
        )
