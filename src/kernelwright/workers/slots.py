"""Worker slots: the GPU and the CPU cores that one of several worker processes has to itself."""

from __future__ import annotations

import contextlib
import os
import queue
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kernelwright.core.device import Device
from kernelwright.core.errors import DeviceError, UsageError
from kernelwright.dialects.devices import count, gpu_name, resolve
from kernelwright.judge.devices.backend import backend_of
from kernelwright.judge.devices.gpu import MOST_JUDGES

ALL = "all"
CORES_A_SEARCH, FEWEST_A_GPU = 2.5, 2
"""Cores for each of the searches on several GPUs, and the searches that a GPU gets however few
cores it has: while one measures, another sets up."""
SIBLINGS = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"


@dataclass(frozen=True)
class WorkerSlot:
    """One GPU and a set of CPU cores.

    Timing a model that launches many small kernels keeps one core fully busy, so two GPUs that are
    timed at once share no core.
    """

    gpu: str = ""
    """The GPU as CUDA_VISIBLE_DEVICES names it, by UUID or number; it becomes ``cuda`` in the
    process. Empty means all GPUs."""
    cores: tuple[int, ...] = ()
    """Numbers of the CPU cores; empty means all cores."""

    def enter(self) -> None:
        """Restrict this process and its children to the slot; call it before using a GPU."""
        if self.gpu:
            os.environ["CUDA_VISIBLE_DEVICES"] = self.gpu
        if self.cores:
            os.sched_setaffinity(0, self.cores)


WHOLE_MACHINE = WorkerSlot()


class FreeSlots:
    """A queue of the slots that no process uses."""

    def __init__(self, slots: Sequence[WorkerSlot]) -> None:
        self._queue: queue.SimpleQueue[WorkerSlot] = queue.SimpleQueue()
        for slot in slots:
            self._queue.put(slot)

    @contextlib.contextmanager
    def take(self) -> Iterator[WorkerSlot]:
        """Wait for a free slot and hold it."""
        slot = self._queue.get()
        try:
            yield slot
        finally:
            self._queue.put(slot)


def gpus_of(slots: Sequence[WorkerSlot], device: str) -> tuple[int, ...]:
    """Return the numbers of the GPUs that these slots use."""
    wanted = Device.parse(device)
    n_gpus = len({slot.gpu for slot in slots})
    if wanted.kind != "cuda":
        return ()
    return tuple(range(n_gpus)) if n_gpus > 1 else (wanted.index,)


def searches_a_gpu(n_cores: float) -> int:
    """Return a good number of searches that share one of several GPUs, which has ``n_cores``.

    It is one more than the GPU can judge at a time, so that the next search is ready: a search
    measures for a few of its seconds, and uses some cores in the others. With fewer cores it is one
    for every ``CORES_A_SEARCH``.
    """
    return min(MOST_JUDGES + 1, max(FEWEST_A_GPU, int(n_cores // CORES_A_SEARCH)))


def usual_jobs(device: str, n_gpus: int = 1) -> int:
    """Return a good number of searches to run side by side.

    A CPU gets one, because builds and timing need the same cores. One GPU gets one more than it can
    judge at a time, and each of several as many as ``searches_a_gpu`` says.

    Raises:
        DeviceError: this machine has no such device.
    """
    if n_gpus > 1:
        return n_gpus * searches_a_gpu(len(os.sched_getaffinity(0)) // n_gpus)
    most = backend_of(resolve(Device.parse(device))).most_judges
    return 1 if most is None else most + 1


def worker_slots(
    device: str, *, gpus: str = "1", jobs: int | None = None, usual: int | None = None
) -> list[WorkerSlot]:
    """Return one slot for each of ``jobs`` searches, dealt in turn to the first ``gpus`` GPUs.

    ``gpus`` is a number or 'all'. ``usual`` is the default of ``jobs`` on a CPU or on one GPU; if
    it is None, ``usual_jobs`` decides.

    Raises:
        UsageError: ``gpus`` is not a number, or does not go with the device or with ``jobs``.
        DeviceError: this machine has no such device, or too few of them.
    """
    wanted = Device.parse(device)
    n_gpus = _number(gpus, wanted)
    most = usual_jobs(device, n_gpus)
    if n_gpus == 1:
        return [WHOLE_MACHINE] * (jobs or usual or most)
    jobs = jobs or most
    if not n_gpus <= jobs <= most:
        raise UsageError(
            f"{n_gpus} GPUs run {n_gpus} to {most} searches side by side",
            seen=f"--jobs {jobs}",
            do=f"give --jobs {most}, or leave it out",
        )
    found = [resolve(replace(wanted, index=n)) for n in range(n_gpus)]
    names = [gpu_name(device) for device in found]
    if len({*names}) > 1 or len({device.key for device in found}) > 1:
        raise DeviceError(
            "a suite is searched on GPUs of one model only",
            seen=", ".join(f"{device} {name}" for device, name in zip(found, names, strict=True)),
            do="set CUDA_VISIBLE_DEVICES to the GPUs of one model, and search once for each model",
        )
    units = [backend_of(device).unit for device in found]
    shares = divided(sorted(os.sched_getaffinity(0)), n_gpus)
    each = [WorkerSlot(gpu, tuple(cores)) for gpu, cores in zip(units, shares, strict=True)]
    return [each[number % n_gpus] for number in range(jobs)]


def divided(cores: Sequence[int], n: int) -> list[list[int]]:
    """Divide ``cores`` into ``n`` parts of equal size.

    The two hardware threads of a core are in the same part if the sizes allow it.

    Raises:
        DeviceError: there are fewer cores than parts.
    """
    size = len(cores) // n
    if size == 0:
        raise DeviceError(
            f"this process has too few cores for {n} GPUs",
            seen=f"{len(cores)} cores",
            do="give a smaller --gpus, or give this process more cores",
        )
    near = sorted(cores, key=lambda core: (_first_sibling(core), core))
    return [sorted(near[number * size : (number + 1) * size]) for number in range(n)]


def _number(gpus: str, device: Device) -> int:
    if gpus != ALL and not re.fullmatch(r"[1-9]\d*", gpus):
        raise UsageError(
            "--gpus is neither a number nor all", seen=gpus, do="write --gpus 2, or --gpus all"
        )
    if gpus != "1" and (device.kind != "cuda" or device.index):
        raise UsageError(
            "--gpus belongs to --device cuda", seen=f"--device {device}", do="write --device cuda"
        )
    here = count(device.kind) if gpus != "1" else 1
    n_gpus = here if gpus == ALL else int(gpus)
    if n_gpus > here or n_gpus == 0:
        raise DeviceError(
            f"this machine does not have {gpus} GPUs" if n_gpus else "this machine has no GPU",
            seen=f"{here} {device.kind} devices",
            do="give a smaller --gpus; `kernelwright doctor` shows what this machine has",
        )
    return n_gpus


def _first_sibling(core: int) -> int:
    """Return the first hardware thread of the physical core that ``core`` belongs to."""
    try:
        return int(Path(SIBLINGS.format(core)).read_text().split(",")[0].split("-")[0])
    except (OSError, ValueError):
        return core
