"""The machine and software that a verdict was made with."""

from __future__ import annotations

import importlib.metadata
import platform
from pathlib import Path

import torch

from kernelwright.core.cores import fitting_threads, usable_cores
from kernelwright.core.device import Device
from kernelwright.core.evaluation import Environment
from kernelwright.dialects.devices import gpu_name
from kernelwright.dialects.toolchain import find_compiler
from kernelwright.judge.machine.place import Place


def resolve_threads(asked: int) -> int:
    """The threads that every series gets: as asked, or all cores of this process.

    Raises:
        UsageError: there are not as many cores.
    """
    return fitting_threads(asked) or usable_cores()


def use_threads(threads: int) -> None:
    """Let the judge's own torch use ``threads`` threads."""
    torch.set_num_threads(threads)


def describe(device: Device, place: Place, threads: int, cache: str) -> Environment:
    """Facts that a time depends on."""
    facts = {
        "torch": str(torch.__version__),  # a str subclass, which msgspec does not encode
        "triton": _version("triton"),
        "compiler": _compiler(),
        "python": platform.python_version(),
        "system": platform.platform(),
        "processor": _processor(),
        "last_level_cache_bytes": place.last_level_cache_bytes(),
        "threads": threads,
        "cache": cache,
        "transparent_hugepages": _read("/sys/kernel/mm/transparent_hugepage/enabled"),
        "governor": _read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
    }
    if device.kind == "cuda":
        facts |= {
            "gpu": gpu_name(device),
            "cuda": torch.version.cuda,
            "matmul_tf32": torch.backends.cuda.matmul.allow_tf32,
            "cudnn_tf32": torch.backends.cudnn.allow_tf32,
        }
    return Environment(device.key, facts)


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _compiler() -> str:
    """'g++ 12.2.0': what C++ candidates and the library's compiled settings are built with."""
    found = find_compiler()
    return f"{found.kind} {found.version}" if found else ""


def _processor() -> str:
    for line in _read("/proc/cpuinfo").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


def _read(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""
