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


def usable_dialects(asked: Sequence[str], device: Device) -> tuple[str, ...]:
    """Return the dialects asked for, or, if none was, all that can run and be timed on ``device``.

    Raises:
        DialectError: a dialect that was asked for cannot run here; the message says how to get it.
        UsageError: no such dialect.
    """
    group = "kernelwright.dialects"
    if not asked:
        found = [plugins.find(group, name) for name in plugins.names(group)]
        return tuple(d.name for d in found if not d.missing(device) and d.is_timed(device))
    for name in asked:
        missing = plugins.find(group, name).missing(device)
        if missing:
            what = f'dialect "{name}" cannot run on {device} here'
            raise DialectError.of_missing(what, missing)
    return tuple(asked)
