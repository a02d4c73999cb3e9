"""The backend of a device: the few things in which judging on a CPU and on a GPU differs."""

from __future__ import annotations

from kernelwright.core.device import Device, require_judged
from kernelwright.judge.devices.cpu import CpuBackend
from kernelwright.judge.devices.gpu import GpuBackend

__all__ = ["CpuBackend", "DeviceBackend", "backend_of"]

DeviceBackend = CpuBackend
"""The interface of all backends: the CPU's answers, of which a GPU gives others."""


def backend_of(device: Device) -> DeviceBackend:
    """The backend of a device.

    Raises:
        UsageError: candidates cannot be judged on this kind of device.
    """
    require_judged(device)
    return GpuBackend(device) if device.kind == "cuda" else CpuBackend()  # emulates Apple's
