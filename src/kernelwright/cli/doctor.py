"""The facts about this machine: what it can do, what is missing, what that costs, and how to get
it."""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil
from rich import box
from rich.table import Table
from rich.text import Text

from kernelwright.core import plugins
from kernelwright.core.cores import usable_cores
from kernelwright.core.device import EMULATED, KINDS, Device
from kernelwright.core.errors import DeviceError, KernelwrightError
from kernelwright.dialects import amdgpu, nvidia
from kernelwright.dialects.devices import gpu_name, resolve
from kernelwright.dialects.simt import machine
from kernelwright.dialects.simt.metal import msl_missing
from kernelwright.isa import isa_missing
from kernelwright.lift import disassembly_missing
from kernelwright.lift.build import build_missing

PRESENT, MISSING = "ok", "missing"
EXTRAS = {  # package: the extra that installs it, what its absence costs
    "triton": ("triton", "no Triton candidates"),
    "scikit-learn": ("tuner", "searches learn no order of candidates from earlier ones"),
    "openai": ("swarm", "no swarm of models on servers"),
    "transformers": ("train", "no models from local checkpoints, and no training"),
    "trl": ("train", "no training"),
    "peft": ("train", "no training of an adapter"),
    "accelerate": ("train", "no training"),
    "datasets": ("train", "no training"),
    "gguf": ("train", "no training from a .gguf file"),
    "tree-sitter": ("port", "no port of CUDA programs, and none run without a GPU"),
    "tree-sitter-cuda": ("port", "no port of CUDA programs, and none run without a GPU"),
    "pyelftools": ("port", "no resource report of code compiled for AMD GPUs"),
    "msgpack": ("port", "no resource report of code compiled for AMD GPUs"),
    "pyarrow": ("data", "no datasets, no training from pairs, no corpus of ported programs"),
    "kernels": ("export", "no trial of layers exported for Hugging Face"),
    "safetensors": ("export", "no export of indices to FlashInfer-Bench"),
    "flashinfer-bench": ("export", "no trial of exported solutions"),
    "psycopg": ("postgres", "no archive on PostgreSQL"),
    "fastapi": ("serve", "no service for a team"),
    "uvicorn": ("serve", "no service for a team"),
    "ray": ("cluster", "no work on a Ray cluster"),
}
GUARANTEE_REMEDY = (
    "run as root, or allow user namespaces: sysctl kernel.unprivileged_userns_clone=1 (Debian), "
    "sysctl kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu)"
)


@dataclass(frozen=True)
class MachineFact:
    """One thing that was examined."""

    area: str
    """'machine', 'devices', 'dialects', 'packages', 'ports' or 'isolation'."""
    name: str
    state: str
    """'ok' or 'missing'."""
    seen: str
    cost: str = ""
    """What its absence costs the user."""
    remedy: str = ""


def examine() -> list[MachineFact]:
    """Examine everything that decides what kernelwright can do here. Nothing is changed or built,
    except for one empty program on which the compiler is tried."""
    devices = list(_devices())
    return [*_machine(), *devices, *_dialects(devices), *_packages(), *_ports(), *_isolation()]


def as_facts(facts: list[MachineFact]) -> dict[str, Any]:
    """Return the JSON form: a list of facts for each area."""
    areas: dict[str, list[dict[str, str]]] = {}
    for fact in facts:
        entry = asdict(fact)
        areas.setdefault(entry.pop("area"), []).append(entry)
    return areas


def as_table(facts: list[MachineFact]) -> Table:
    """Return the facts as a table for a terminal."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("", no_wrap=True)
    table.add_column("what", no_wrap=True)
    table.add_column("state", no_wrap=True)
    table.add_column("seen; what it costs; how to get it", overflow="fold")
    area = None
    for fact in facts:
        said = [part for part in (fact.seen, fact.cost, fact.remedy) if part]
        table.add_row(
            fact.area if fact.area != area else "",
            fact.name,
            fact.state,
            Text("\n".join(said)),
            style="" if fact.state == PRESENT else "yellow",
        )
        area = fact.area
    return table


def _machine() -> Iterator[MachineFact]:
    cores = f"{usable_cores()} cores for this process"
    yield MachineFact("machine", "processor", PRESENT, f"{_processor()}, {cores}")
    yield MachineFact(
        "machine", "memory", PRESENT, f"{psutil.virtual_memory().total / 2**30:.1f} GiB"
    )
    yield MachineFact("machine", "caches", PRESENT, _caches() or "not reported by this system")
    pages = _read(Path("/sys/kernel/mm/transparent_hugepage/enabled"))
    is_off = not pages or "[never]" in pages
    yield MachineFact(
        "machine",
        "huge pages",
        MISSING if is_off else PRESENT,
        pages or "not reported by this system",
        "large outputs pay one page fault per 4 KiB" if is_off else "",
        "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled (as root)" if is_off else "",
    )
    system = f"Python {platform.python_version()}, {platform.platform()}"
    yield MachineFact("machine", "system", PRESENT, system)


def _devices() -> Iterator[MachineFact]:
    """Yield one fact per device; a missing kind is one fact that says how to get it."""
    yield MachineFact("devices", "cpu", PRESENT, _processor())
    for kind in KINDS[1:]:
        if kind == "metal" and resolve(Device(kind)).arch == EMULATED:
            yield _emulated()
            continue
        library = plugins.find("kernelwright.dialects", "torch")
        missing = library.missing(Device(kind))
        if missing is not None:
            yield MachineFact("devices", kind, MISSING, "", f"no kernels for {kind}", missing)
            continue
        for index in range(64):  # more than one machine holds; the first absent one ends the loop
            try:
                device = resolve(Device(kind, index=index))
            except KernelwrightError:
                break
            yield MachineFact("devices", str(device), PRESENT, _described(device))


def _emulated() -> MachineFact:
    """Return the Apple GPU whose kernels this machine's CPU runs, if it can."""
    device, missing = resolve(Device("metal")), msl_missing()
    if missing is not None:
        return MachineFact("devices", "metal", MISSING, "", "no kernels for metal", missing)
    return MachineFact("devices", str(device), PRESENT, "kernels are checked on the CPU, not timed")


def _described(device: Device) -> str:
    """Return a GPU's name, and the size of its own memory."""
    import torch

    if device.kind == "metal":
        return platform.processor()
    total_bytes = torch.cuda.get_device_properties(device.index).total_memory
    return f"{gpu_name(device)}, {total_bytes / 2**30:.0f} GiB"


def _dialects(devices: list[MachineFact]) -> Iterator[MachineFact]:
    """Yield each dialect on each device of this machine, or once on the kind that it is made
    for."""
    here = [Device.parse(found.name) for found in devices if found.state == PRESENT]
    for name in plugins.names("kernelwright.dialects"):
        dialect = plugins.find("kernelwright.dialects", name)
        lacks = [(device, dialect.missing(device)) for device in here]
        if all(missing for _, missing in lacks):
            device = Device(name) if name in KINDS else here[0]  # a GPU's language needs that GPU
            remedy = dialect.missing(device) or ""
            yield MachineFact("dialects", name, MISSING, "", f"no {name} candidates here", remedy)
            continue
        for device, missing in lacks:
            if missing is None:
                timed = dialect.is_timed(device)
                seen = (
                    "built, checked and timed" if timed else "checked by an interpreter, not timed"
                )
                yield MachineFact("dialects", f"{name} on {device}", PRESENT, seen)


def _packages() -> Iterator[MachineFact]:
    for name in ("torch", "sqlalchemy"):
        yield MachineFact("packages", name, PRESENT, importlib.metadata.version(name))
    for name, (extra, cost) in EXTRAS.items():
        try:
            yield MachineFact("packages", name, PRESENT, importlib.metadata.version(name))
        except importlib.metadata.PackageNotFoundError:
            remedy = f"pip install 'kernelwright[{extra}]'"
            yield MachineFact("packages", name, MISSING, "not installed", cost, remedy)


def _ports() -> Iterator[MachineFact]:
    """Yield the rungs on which a port of a CUDA program can be checked here."""
    for name, checked, lacks in (
        ("1 compile", "compiled for AMD GPUs", amdgpu.compile_missing()),
        ("of SASS", "of a cubin lifted to AMD assembly", disassembly_missing() or build_missing()),
        ("2 emulate", "run on this CPU", machine.emulation_missing()),
        ("3 nvidia", "run beside its original", nvidia.nvcc_missing() or nvidia.gpu_missing()),
        ("4 amd", "run on an AMD GPU", amdgpu.gpu_missing() or amdgpu.hipcc_missing()),
        ("5 isa", "run as AMD instructions", amdgpu.compile_missing() or isa_missing()),
    ):
        if lacks is None:
            yield MachineFact("ports", name, PRESENT, checked)
        else:
            yield MachineFact("ports", name, MISSING, "", f"no port is {checked}", lacks)


def _isolation() -> Iterator[MachineFact]:
    """Yield what separates a candidate from the rest of the machine, found by starting such a
    process."""
    from kernelwright.judge.sandbox.isolation import MEANING, require_linux

    held: frozenset[str]
    try:
        require_linux()
    except DeviceError as error:
        held, seen, remedy = frozenset(), error.seen, error.do
    else:
        held, seen = _granted()
        remedy = GUARANTEE_REMEDY
    for name, meaning in MEANING.items():
        if name in held:
            yield MachineFact("isolation", name, PRESENT, meaning)
        else:
            cost = f"not so here: {meaning}; judge only candidates that you trust"
            yield MachineFact("isolation", name, MISSING, seen, cost, remedy)


def _granted() -> tuple[frozenset[str], str]:
    """Return what a child is granted here; empty if none can be started, with the reason."""
    from kernelwright.judge.sandbox.fork_server import ForkServer

    server = ForkServer({}, threads=1)
    try:
        child = server.fork()
        child.close()
        return child.granted, ""
    except DeviceError as error:
        return frozenset(), error.seen
    finally:
        server.close()


def _processor() -> str:
    for line in _read(Path("/proc/cpuinfo")).splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _caches() -> str:
    """Return the caches of the first core: 'L1 Data 48K, L2 Unified 1024K, ...'."""
    found = []
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index[0-9]")):
        level, kind, size = (_read(index / name) for name in ("level", "type", "size"))
        if kind != "Instruction":
            found.append(f"L{level} {size}")
    return ", ".join(found)


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
