"""The machine and software that a verdict is made with, and whether another could be made here."""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from kernelwright.core.cores import fitting_threads, usable_cores
from kernelwright.core.device import Device
from kernelwright.core.evaluation import Environment
from kernelwright.core.settings import Settings
from kernelwright.dialects.devices import gpu_name
from kernelwright.dialects.toolchain import find_compiler
from kernelwright.judge.devices.backend import DeviceBackend, backend_of

OF_THE_TASK = ("matmul_tf32", "cudnn_tf32", "precision")
"""Facts that follow from a task's source and its precision. They are known only where the task has
been run, and do not tell two environments of one task apart."""


def resolve_threads(asked: int) -> int:
    """The threads that every series gets: as asked, or all cores of this process.

    Raises:
        UsageError: there are not as many cores.
    """
    return fitting_threads(asked) or usable_cores()


def describe(
    device: Device, backend: DeviceBackend, threads: int, settings: Settings
) -> Environment:
    """The facts that a measured time depends on."""
    compiler = find_compiler()  # of C++ candidates and the library's compiled settings
    facts: dict[str, Any] = {
        "torch": str(torch.__version__),  # a str subclass, which msgspec does not encode
        "triton": _version("triton"),
        "compiler": f"{compiler.kind} {compiler.version}" if compiler else "",
        "python": platform.python_version(),
        # Not the kernel's release: an upgraded node keeps its verdicts.
        "system": "-".join(
            filter(None, (platform.system(), platform.machine(), *platform.libc_ver()))
        ),
        "processor": _processor(),
        "last_level_cache_bytes": backend.last_level_cache_bytes(),
        "threads": threads,
        "cache": settings.cache,
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
    if settings.max_autotune:  # speedups are over other library settings then
        facts["max_autotune"] = True
    if not settings.compiled:
        facts["compiled"] = False
    return Environment(device.key, facts)


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


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


@dataclass(frozen=True)
class Here:
    """A device of this machine with its software, and everything else that a time depends on."""

    device: str
    """With its architecture, and without a number: 'cuda:sm_90'."""
    facts: Mapping[str, Any]

    @classmethod
    def of(cls, device: Device, settings: Settings, n_cores: int = 0) -> Here:
        """The environment of a search with these settings and cores; 0: all of this process."""
        threads = settings.threads or n_cores or usable_cores()
        found = describe(device, backend_of(device), threads, settings)
        return cls(found.device, found.facts)

    @property
    def told(self) -> dict[str, Any]:
        """All of it that is known before a task has been run."""
        return {"device": self.device, **_without_the_task(self.facts)}

    def is_of(self, environment: Environment) -> bool:
        """True if a verdict that was found in an environment could have been found here."""
        there = (environment.device, _without_the_task(environment.facts))
        return there == (self.device, _without_the_task(self.facts))


def _without_the_task(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in facts.items() if name not in OF_THE_TASK}
