"""Lanes: the GPU and the CPU cores that one of several searches has alone."""

from __future__ import annotations

import contextlib
import math
import os
import queue
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kernelwright.core.device import Device
from kernelwright.core.errors import DeviceError, UsageError
from kernelwright.dialects.devices import count, gpu_name, resolve
from kernelwright.judge.machine.place import MOST_JUDGES, place_of

ALL = "all"
SIBLINGS = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"


@dataclass(frozen=True)
class Lane:
    """One GPU, which is ``cuda`` to whoever enters, and some of the cores; without: all there is.

    Measuring a model that launches many small kernels takes a core's whole attention, so two GPUs
    that measure at a time have no core in common.
    """

    gpu: str = ""
    cores: tuple[int, ...] = ()

    def enter(self) -> None:
        """From now on this process, and what it starts, has nothing else. To be called before it
        uses a GPU."""
        if self.gpu:
            os.environ["CUDA_VISIBLE_DEVICES"] = self.gpu
        if self.cores:
            os.sched_setaffinity(0, self.cores)


WHOLE = Lane()


class Free:
    """The lanes that nobody is in."""

    def __init__(self, lanes: Sequence[Lane]) -> None:
        self._queue: queue.SimpleQueue[Lane] = queue.SimpleQueue()
        for lane in lanes:
            self._queue.put(lane)

    @contextlib.contextmanager
    def one(self) -> Iterator[Lane]:
        """Wait for one, and hold it."""
        lane = self._queue.get()
        try:
            yield lane
        finally:
            self._queue.put(lane)


def usual_jobs(device: str, n_gpus: int = 1) -> int:
    """How many searches go well side by side: one more than a GPU takes, so that the next is
    ready, and as many on several, which share the driver; one on a CPU, where builds and
    measurements want the same cores.

    Raises:
        DeviceError: this machine has no such device.
    """
    if n_gpus > 1:
        return n_gpus * math.ceil((MOST_JUDGES + 1) / n_gpus)
    most = place_of(resolve(Device.parse(device))).most_judges
    return 1 if most is None else most + 1


def lanes(
    device: str, *, gpus: str = "1", jobs: int | None = None, usual: int | None = None
) -> list[Lane]:
    """A lane for each of ``jobs`` searches, on the first ``gpus`` GPUs ('all': each) in turns.

    ``usual``: how many on one GPU, or a CPU, where ``jobs`` is left out; else as many as go well.

    Raises:
        UsageError: not a number of GPUs, or one that does not go with the device or with ``jobs``.
        DeviceError: this machine has no such device, or not so many.
    """
    wanted = Device.parse(device)
    n_gpus = _number(gpus, wanted)
    most = usual_jobs(device, n_gpus)
    if n_gpus == 1:
        return [WHOLE] * (jobs or usual or most)
    jobs = jobs or most
    if not n_gpus <= jobs <= most:
        raise UsageError(
            f"{n_gpus} GPUs take {n_gpus} to {most} searches side by side",
            seen=f"--jobs {jobs}",
            do=f"give --jobs {most}, or leave it out",
        )
    found = [resolve(replace(wanted, index=n)) for n in range(n_gpus)]
    names = [gpu_name(device) for device in found]
    if len({*names}) > 1 or len({device.key for device in found}) > 1:
        raise DeviceError(
            "a suite is searched on GPUs of one name only",
            seen=", ".join(f"{device} {name}" for device, name in zip(found, names, strict=True)),
            do="set CUDA_VISIBLE_DEVICES to those of one, and search once for each",
        )
    units = [place_of(device).unit for device in found]
    shares = divided(sorted(os.sched_getaffinity(0)), n_gpus)
    each = [Lane(gpu, tuple(cores)) for gpu, cores in zip(units, shares, strict=True)]
    return [each[number % n_gpus] for number in range(jobs)]


def divided(cores: Sequence[int], n: int) -> list[list[int]]:
    """``cores`` in ``n`` parts of equal size; a core's two threads are in one, where that comes out
    even.

    Raises:
        DeviceError: there are too few.
    """
    size = len(cores) // n
    if size == 0:
        raise DeviceError(
            f"this process has too few cores for {n} GPUs",
            seen=f"{len(cores)} cores",
            do="give --gpus fewer, or this process more cores",
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
            do="give --gpus fewer; `kernelwright doctor` says what is here",
        )
    return n_gpus


def _first_sibling(core: int) -> int:
    """The first of the hardware threads of a core that one of them belongs to."""
    try:
        return int(re.match(r"\d+", Path(SIBLINGS.format(core)).read_text())[0])
    except (OSError, TypeError):
        return core
