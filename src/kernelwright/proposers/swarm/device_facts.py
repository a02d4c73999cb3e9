"""Facts about the device for a kernel's writer: from a table for GPUs, or read from the CPU."""

from __future__ import annotations

import csv
import platform
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import psutil

from kernelwright.core.device import Device

WIDE = {"avx512f": "AVX-512: 16 floats in a vector", "avx2": "AVX2: 8 floats in a vector"}


def facts(device: Device, threads: int) -> list[tuple[str, str, str]]:
    """Return (fact, value, source) rows; empty for a GPU that is not in the table.

    Apple's GPUs have one set of rows, because torch does not say which of them it is.
    """
    if device.kind == "cpu":
        return list(_cpu(threads))
    key = device.kind if device.kind == "metal" else f"{device.kind}:{device.arch}"
    return [row[1:] for row in _table() if row[0] == key]


@cache
def _table() -> tuple[tuple[str, str, str, str], ...]:
    with (Path(__file__).parent / "device_facts.csv").open(newline="") as file:
        rows = csv.DictReader(file)
        return tuple((r["device"], r["fact"], r["value"], r["source"]) for r in rows)


def _cpu(threads: int) -> Iterator[tuple[str, str, str]]:
    described = _read(Path("/proc/cpuinfo"))
    pairs = (line.partition(":") for line in described.splitlines())
    lines = {key.strip(): value.strip() for key, _, value in pairs}
    yield "processor", lines.get("model name") or platform.machine(), "the system"
    yield "threads that candidates run with", str(threads), "this run"
    flags = lines.get("flags", "").split()
    for flag, meaning in WIDE.items():
        if flag in flags:
            yield "vectors", meaning, "/proc/cpuinfo"
            break
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index[0-9]")):
        level, kind, size = (_read(index / name) for name in ("level", "type", "size"))
        if kind != "Instruction":
            yield f"L{level} cache", size, str(index.parent)
    yield "memory", f"{psutil.virtual_memory().total / 2**30:.0f} GiB", "the system"


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
