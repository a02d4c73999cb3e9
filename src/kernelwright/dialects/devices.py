"""The devices of this machine, and the resolution of a device that a user names."""

from __future__ import annotations

from dataclasses import replace

from kernelwright.core.device import EMULATED, Device
from kernelwright.core.errors import DeviceError, UsageError


def resolve(device: Device) -> Device:
    """Return ``device`` with its architecture filled in from this machine: 'cuda' → 'cuda:sm_90'.

    Raises:
        DeviceError: this machine has no such device, or not that many.
        UsageError: the requested architecture is not the one of this machine.
    """
    if device.kind == "cpu":
        return device
    found = _architectures(device.kind)
    if device.index >= len(found):
        raise DeviceError(
            f"this machine has no device {device}",
            seen=f"{len(found)} {device.kind} devices",
            do="run `kernelwright doctor` to see what is here, or use --device cpu",
        )
    arch = found[device.index]
    if device.arch and device.arch != arch:
        raise UsageError(
            f"device {device} is not the one in this machine",
            seen=f"{device.kind}:{arch}",
            do=f"use --device {device.kind}, or run where there is a {device.arch}",
        )
    return replace(device, arch=arch)


def count(kind: str) -> int:
    """Return how many devices of a kind this machine has."""
    return len(_architectures(kind))


def gpu_name(device: Device) -> str:
    """Return the name of this machine's GPU; empty for a CPU, and if torch has no GPU."""
    if device.kind not in ("cuda", "hip"):
        return ""
    import torch

    return torch.cuda.get_device_name(device.index) if torch.cuda.is_available() else ""


def _architectures(kind: str) -> tuple[str, ...]:
    """Return the architecture of every device of a kind, in torch's order; one Apple GPU is
    emulated where there is none."""
    import torch

    if kind == "metal":
        return ("apple",) if torch.backends.mps.is_available() else (EMULATED,)
    is_hip = torch.version.hip is not None
    if not torch.cuda.is_available() or is_hip != (kind == "hip"):
        return ()
    properties = [torch.cuda.get_device_properties(i) for i in range(torch.cuda.device_count())]
    if is_hip:
        return tuple(p.gcnArchName.split(":")[0] for p in properties)
    return tuple(f"sm_{p.major}{p.minor}" for p in properties)
