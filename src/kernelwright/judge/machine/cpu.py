"""Judging on the CPU: memory that both processes map, outputs read from outside."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import itertools
import mmap
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import torch

from kernelwright.judge.isolation import kernel_calls as kernel

SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
DEFAULT_CACHE_BYTES = 32 << 20  # where the kernel does not say


def share(n_bytes: int) -> tuple[int, torch.Tensor]:
    """New memory to share: a file descriptor for the child, and this side's view in bytes."""
    fd = os.memfd_create("arguments", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, max(n_bytes, mmap.PAGESIZE))
    # A child that could shrink the file would crash the judge at its next write.
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, SEALS)
    return fd, map_shared(fd)


def map_shared(fd: int) -> torch.Tensor:
    """The bytes of memory that ``share`` made."""
    memory = mmap.mmap(fd, 0, flags=mmap.MAP_SHARED | mmap.MAP_POPULATE)
    return torch.frombuffer(memory, dtype=torch.uint8)


def read_process(pid: int, address: int, n_bytes: int) -> torch.Tensor:
    """A copy of another process's memory, in bytes.

    Raises:
        OSError: nothing is mapped there, or this machine refuses.
    """
    data = torch.empty(n_bytes, dtype=torch.uint8)
    if n_bytes:
        kernel.read_process(pid, address, data.data_ptr(), n_bytes)
    return data


class Mapped(NamedTuple):
    """A piece of a process's memory, as proc(5) tells of it."""

    start: int
    end: int
    rights: str
    offset: int
    """In the file that it belongs to."""
    file: tuple[str, str]
    """That file's device and number there, which is "0" where there is none."""
    path: str


def mapped(pid: int) -> Iterator[Mapped]:
    """The memory of a process.

    Raises:
        OSError: it is gone, or this machine does not tell.
    """
    with open(f"/proc/{pid}/maps", "rb") as file:
        lines = file.readlines()  # text ends lines at what a file's name may hold, too
    for line in lines:
        words = line[:-1].decode(errors="replace").split(maxsplit=5)
        addresses, rights, offset, device, number, *path = words
        start, end = (int(part, 16) for part in addresses.split("-"))
        yield Mapped(start, end, rights, int(offset, 16), (device, number), "".join(path))


def mappings(pid: int, rights: str = "") -> list[tuple[int, int, str]]:
    """The memory of a process that it may use so ("x"): start, end, and the file's path, if any.

    Raises:
        OSError: as for ``mapped``.
    """
    return [(part.start, part.end, part.path) for part in mapped(pid) if rights in part.rights]


def is_repeated(parts: Iterable[Mapped], spans: Iterable[tuple[int, int]]) -> bool:
    """Whether two addresses of a process within these spans, from start to end, are one memory, by
    what of it is ``mapped``.

    Memory that has two addresses belongs to a file, be it one without a name: proc(5).
    """
    held, pieces = merged(spans), []
    for part in parts:
        for start, end in held if part.file[1] != "0" else []:
            first, last = max(start, part.start), min(end, part.end)
            if first < last:
                to_file = part.offset - part.start
                pieces.append((part.file, first + to_file, last + to_file))
    pairs = itertools.pairwise(sorted(pieces))
    return any(one[0] == other[0] and other[1] < one[2] for one, other in pairs)


def may_write(parts: Iterable[Mapped], spans: Iterable[tuple[int, int]]) -> bool:
    """Whether a process may read and write all of these spans, by what of it is ``mapped``."""
    held = merged(spans)
    n_bytes = sum(end - start for start, end in held)
    for part in parts:
        for start, end in held if part.rights.startswith("rw") else []:
            n_bytes -= max(0, min(end, part.end) - max(start, part.start))
    return n_bytes == 0


def merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same addresses, each in one span."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            start, end = found[-1][0], max(end, found.pop()[1])
        found.append((start, end))
    return found


def may_read(pid: int) -> bool:
    """Whether this machine lets the judge read the memory of a process of its own."""
    byte = ctypes.create_string_buffer(1)
    try:
        kernel.read_process(pid, 0, ctypes.addressof(byte), 1)
    except OSError as error:
        return error.errno == errno.EFAULT  # nothing is mapped at 0, so it was looked for
    return True


def last_level_cache_bytes() -> int:
    """The size of the last-level cache, as the kernel reports it."""
    sizes = []
    for path in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"):
        text = path.read_text().strip()
        sizes.append(int(text[:-1]) * {"K": 1 << 10, "M": 1 << 20}[text[-1]])
    return max(sizes, default=DEFAULT_CACHE_BYTES)


def spread_threads() -> None:
    """Start the OpenMP pool and give each of its threads a core of its own, from the second on.

    The main thread finds the first one free. It is not bound to it, because threads that a
    candidate starts inherit its cores.
    """
    before = set(os.listdir("/proc/self/task"))
    torch.zeros(1 << 20).add_(1)
    started = sorted(map(int, set(os.listdir("/proc/self/task")) - before))
    cores = sorted(os.sched_getaffinity(0))
    for number, thread in enumerate(started, start=1):
        os.sched_setaffinity(thread, {cores[number % len(cores)]})
