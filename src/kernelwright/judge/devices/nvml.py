"""Clocks and neighbours of an NVIDIA GPU, from the management library that its driver brings.

Source:
    NVML API Reference, sections Device Queries and Event Types; nvml.h for enumerations and the
    layout of structures.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache
from typing import Any

from kernelwright.judge.devices.gpu import unit

SUCCESS, NOT_FOUND = 0, 6
SM_CLOCK, MEMORY_CLOCK, CORE_SENSOR = 1, 2, 0
MOST_PROCESSES = 1024
SLOWED_BY = {
    0x02: "applications' clocks",
    0x04: "power cap",
    0x08: "hardware",
    0x10: "sync boost",
    0x20: "heat",
    0x40: "heat, by hardware",
    0x80: "power brake",
    0x100: "display clocks",
}
"""Why the clocks are below their highest; that it is idle (0x01) slows nothing down."""


class Unknown(Exception):
    """The library is not here, or does not tell this of this GPU."""


class _Process(ctypes.Structure):
    _fields_ = (
        ("pid", ctypes.c_uint),
        ("used_bytes", ctypes.c_ulonglong),
        ("gpu_instance", ctypes.c_uint),
        ("compute_instance", ctypes.c_uint),
    )


class _Use(ctypes.Structure):
    _fields_ = (
        ("pid", ctypes.c_uint),
        ("time_us", ctypes.c_ulonglong),
        ("sm_percent", ctypes.c_uint),
        ("memory_percent", ctypes.c_uint),
        ("encoder_percent", ctypes.c_uint),
        ("decoder_percent", ctypes.c_uint),
    )


def facts(index: int, own: set[int]) -> dict[str, Any]:
    """What the GPU tells of its clocks and of processes that are not ``own``.

    Units:
        In the names.
    Raises:
        Unknown: it tells nothing.
    """
    gpu, told = _gpu(index), {}
    for name, function, *which in (
        ("sm_mhz", "nvmlDeviceGetClockInfo", SM_CLOCK),
        ("memory_mhz", "nvmlDeviceGetClockInfo", MEMORY_CLOCK),
        ("temperature_c", "nvmlDeviceGetTemperature", CORE_SENSOR),
    ):
        value = ctypes.c_uint()
        if _ask(function, gpu, *which, ctypes.byref(value)) == SUCCESS:
            told[name] = value.value
    reasons = ctypes.c_ulonglong()
    asked = ("nvmlDeviceGetCurrentClocksThrottleReasons", gpu, ctypes.byref(reasons))
    if _ask(*asked) == SUCCESS:
        told["slowed_by"] = [word for bit, word in SLOWED_BY.items() if reasons.value & bit]
    pids = _pids(gpu)
    if pids is not None:
        told["other_processes"] = len(pids - own)
    return told


def share_of_others(index: int, own: set[int], *, since_s: float) -> float | None:
    """The share of the GPU's time that processes which are not ``own`` took since a moment.

    None where it does not tell which process is whose.

    Units:
        ``since_s`` in seconds of Unix time.
    Raises:
        Unknown: it tells nothing.
    """
    uses = _uses(index, since_s)
    if uses is None:
        return None
    shares = (sum(seen) / len(seen) for pid, seen in uses.items() if pid not in own)
    return min(1.0, sum(shares) / 100)


def works_for(index: int, pid: int, *, since_s: float) -> bool:
    """Whether the GPU has worked for a process since a moment; False where nobody can tell.

    Units:
        ``since_s`` in seconds of Unix time.
    Raises:
        Unknown: it tells nothing.
    """
    return any((_uses(index, since_s) or {}).get(pid, ()))


def _uses(index: int, since_s: float) -> dict[int, list[int]] | None:
    """By process, the shares of its time that the GPU worked for it, in percent, one a sample; None
    where it does not tell which process is whose."""
    gpu = _gpu(index)
    if _pids(gpu) is None:
        return None
    uses, count = (_Use * MOST_PROCESSES)(), ctypes.c_uint(MOST_PROCESSES)
    since = ctypes.c_ulonglong(int(since_s * 1e6))
    code = _ask("nvmlDeviceGetProcessUtilization", gpu, uses, ctypes.byref(count), since)
    if code not in (SUCCESS, NOT_FOUND):
        return None
    found: dict[int, list[int]] = {}
    for use in uses[: count.value] if code == SUCCESS else ():
        if use.time_us >= since.value:
            found.setdefault(use.pid, []).append(use.sm_percent)
    return found


def _pids(gpu: ctypes.c_void_p) -> set[int] | None:
    """The processes with work on the GPU; None where they are told by other numbers than ours,
    as in a process namespace: then this process, which has work there, is not among them."""
    found, count = (_Process * MOST_PROCESSES)(), ctypes.c_uint(MOST_PROCESSES)
    code = _ask("nvmlDeviceGetComputeRunningProcesses_v3", gpu, ctypes.byref(count), found)
    pids = {process.pid for process in found[: count.value]} if code == SUCCESS else set()
    return pids if os.getpid() in pids else None


@cache
def _gpu(index: int) -> ctypes.c_void_p:
    """The library's handle of a GPU that torch knows by a number.

    Raises:
        Unknown: there is no library, or it does not know the GPU.
    """
    gpu = ctypes.c_void_p()
    name = unit(index).encode()
    if _ask("nvmlInit_v2") or _ask("nvmlDeviceGetHandleByUUID", name, ctypes.byref(gpu)):
        raise Unknown(name.decode())
    return gpu


def _ask(function: str, *arguments: object) -> int:
    """Call the library.

    Returns:
        Its code, ``SUCCESS`` or an error.
    Raises:
        Unknown: it is not here, or lacks the function.
    """
    try:
        return int(getattr(ctypes.CDLL("libnvidia-ml.so.1"), function)(*arguments))
    except (OSError, AttributeError) as error:
        raise Unknown(str(error)) from error
