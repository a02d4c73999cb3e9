"""The dialects in which a candidate for a device may be written on this machine."""

from __future__ import annotations

from collections.abc import Sequence

from kernelwright.core import plugins
from kernelwright.core.device import Device
from kernelwright.core.errors import DialectError


def run_as(dialect: str, device: Device) -> str:
    """Return the dialect whose tools a candidate needs on a device: C++ that runs on a GPU calls
    torch's operators there, or CUDA's libraries."""
    return "cuda" if dialect == "cpp" and device.kind == "cuda" else dialect


def untimed(dialect: str, device: Device) -> str:
    """Return what a verdict says where a dialect's times on a device say nothing."""
    if device.kind == "metal":
        return "not compiled by Apple's compiler, not timed: its kernels are emulated on a CPU"
    return f"not timed: {dialect} on {device.kind} runs in an interpreter"


def usable_dialects(asked: Sequence[str], device: Device) -> tuple[str, ...]:
    """Return the dialects asked for, or, if none was, all that can run and be timed on ``device``;
    all that can run there if none can be timed.

    Raises:
        DialectError: a dialect that was asked for cannot run here; the message says how to get it.
        UsageError: no such dialect.
    """
    group = "kernelwright.dialects"
    if not asked:
        found = [plugins.find(group, name) for name in plugins.names(group)]
        running = [dialect for dialect in found if not dialect.missing(device)]
        timed = [dialect for dialect in running if dialect.is_timed(device)]
        return tuple(dialect.name for dialect in timed or running)
    for name in asked:
        missing = plugins.find(group, name).missing(device)
        if missing:
            what = f'dialect "{name}" cannot run on {device} here'
            raise DialectError.of_missing(what, missing)
    return tuple(asked)
