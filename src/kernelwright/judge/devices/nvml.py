"""Clocks and neighbours of an NVIDIA GPU, from the management library that its driver brings.

Source:
    NVML API Reference, sections Device Queries and Event Types, through NVIDIA's own binding.
"""

from __future__ import annotations

import contextlib
import os
from functools import cache
from typing import Any

import pynvml

from kernelwright.judge.devices.cuda_driver import unit

SLOWED_BY = {
    pynvml.nvmlClocksThrottleReasonApplicationsClocksSetting: "applications' clocks",
    pynvml.nvmlClocksThrottleReasonSwPowerCap: "power cap",
    pynvml.nvmlClocksThrottleReasonHwSlowdown: "hardware",
    pynvml.nvmlClocksThrottleReasonSyncBoost: "sync boost",
    pynvml.nvmlClocksThrottleReasonSwThermalSlowdown: "heat",
    pynvml.nvmlClocksThrottleReasonHwThermalSlowdown: "heat, by hardware",
    pynvml.nvmlClocksThrottleReasonHwPowerBrakeSlowdown: "power brake",
    pynvml.nvmlClocksThrottleReasonDisplayClockSetting: "display clocks",
}
"""Why the clocks are below their highest. An idle GPU is in none of these states."""
NO_SAMPLES = (pynvml.NVML_SUCCESS, pynvml.NVML_ERROR_NOT_FOUND)
"""Errors that the binding raises where no process has used the GPU since the given moment."""


class Unknown(Exception):
    """The library is not here, or does not tell this of this GPU."""


def facts(index: int, own: set[int]) -> dict[str, Any]:
    """Clocks, temperature, and the number of processes that are not ``own``, as far as it tells.

    Raises:
        Unknown: it tells nothing.
    """
    gpu, told = _gpu(index), dict[str, Any]()
    for name, ask, which in (
        ("sm_mhz", pynvml.nvmlDeviceGetClockInfo, (pynvml.NVML_CLOCK_SM,)),
        ("memory_mhz", pynvml.nvmlDeviceGetClockInfo, (pynvml.NVML_CLOCK_MEM,)),
        ("temperature_c", pynvml.nvmlDeviceGetTemperature, (pynvml.NVML_TEMPERATURE_GPU,)),
        ("slowed_by", pynvml.nvmlDeviceGetCurrentClocksThrottleReasons, ()),
    ):
        with contextlib.suppress(pynvml.NVMLError):
            told[name] = ask(gpu, *which)
    if "slowed_by" in told:
        told["slowed_by"] = [word for bit, word in SLOWED_BY.items() if told["slowed_by"] & bit]
    pids = _pids(gpu)
    if pids is not None:
        told["other_processes"] = len(pids - own)
    return told


def share_of_others(index: int, own: set[int], *, since_s: float) -> float | None:
    """The share of the GPU's time that processes which are not ``own`` took since a moment, in
    seconds of Unix time; None where it does not tell which process is whose.

    Raises:
        Unknown: it tells nothing.
    """
    uses = _uses(index, since_s)
    if uses is None:
        return None
    shares = (sum(seen) / len(seen) for pid, seen in uses.items() if pid not in own)
    return min(1.0, sum(shares) / 100)


def works_for(index: int, pid: int, *, since_s: float) -> bool:
    """True if the GPU has worked for a process since a moment, in seconds of Unix time; False where
    nobody can tell."""
    with contextlib.suppress(Unknown):
        return any((_uses(index, since_s) or {}).get(pid, ()))
    return False


def busy_share(index: int) -> float:
    """The share of the last moments, up to a second, in which a kernel of anybody's ran.

    Raises:
        Unknown: it tells nothing.
    """
    try:
        return float(pynvml.nvmlDeviceGetUtilizationRates(_gpu(index)).gpu) / 100
    except pynvml.NVMLError as error:
        raise Unknown(str(error)) from error


def _uses(index: int, since_s: float) -> dict[int, list[int]] | None:
    """By process, the shares of its time that the GPU worked for it, in percent, one a sample; None
    where it does not tell which process is whose."""
    gpu = _gpu(index)
    if _pids(gpu) is None:
        return None
    since_us = int(since_s * 1e6)
    try:
        uses = pynvml.nvmlDeviceGetProcessUtilization(gpu, since_us)
    except pynvml.NVMLError as error:
        return {} if error.value in NO_SAMPLES else None
    found: dict[int, list[int]] = {}
    for use in uses:
        if use.timeStamp >= since_us:
            found.setdefault(use.pid, []).append(use.smUtil)
    return found


def _pids(gpu: Any) -> set[int] | None:
    """The processes with work on the GPU; None where they are told by other numbers than ours,
    as in a process namespace: then this process, which has work there, is not among them."""
    try:
        pids = {process.pid for process in pynvml.nvmlDeviceGetComputeRunningProcesses(gpu)}
    except pynvml.NVMLError:
        return None
    return pids if os.getpid() in pids else None


@cache
def _gpu(index: int) -> Any:
    """The library's handle of a GPU that torch knows by a number.

    Raises:
        Unknown: there is no library, or it does not know the GPU.
    """
    try:
        pynvml.nvmlInit()
        return pynvml.nvmlDeviceGetHandleByUUID(unit(index))
    except pynvml.NVMLError as error:
        raise Unknown(str(error)) from error
