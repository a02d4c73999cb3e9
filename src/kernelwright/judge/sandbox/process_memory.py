"""The memory of another process: what is mapped where, and its contents.

Source:
    proc(5) for /proc/PID/maps; process_vm_readv(2).
"""

from __future__ import annotations

import ctypes
import errno
import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import torch

from kernelwright.judge.sandbox import kernel_calls as kernel


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
    """A mapped range of a process's memory, as a line of /proc/PID/maps describes it."""

    start: int
    end: int
    rights: str
    offset: int
    """The offset in the file that is mapped."""
    file: tuple[str, str]
    """The file's device and inode; the inode is "0" where no file is mapped."""
    path: str


def mapped(pid: int) -> Iterator[Mapped]:
    """The mapped ranges of a process.

    Raises:
        OSError: it is gone, or this machine does not show them.
    """
    # Text ends lines at what a file's name may hold, too.
    for line in Path(f"/proc/{pid}/maps").read_bytes().split(b"\n")[:-1]:
        words = line.decode(errors="replace").split(maxsplit=5)
        addresses, rights, offset, device, number, *path = words
        start, end = (int(part, 16) for part in addresses.split("-"))
        yield Mapped(start, end, rights, int(offset, 16), (device, number), "".join(path))


def is_repeated(parts: Iterable[Mapped], spans: Iterable[tuple[int, int]]) -> bool:
    """True if two addresses of a process within these spans are the same memory, by its ``mapped``
    ranges.

    Memory that has two addresses belongs to a file, perhaps one without a name: proc(5).
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
    """True if a process may read and write all of these spans, by its ``mapped`` ranges."""
    held = merged(spans)
    n_bytes = sum(end - start for start, end in held)
    for part in parts:
        for start, end in held if part.rights.startswith("rw") else []:
            n_bytes -= max(0, min(end, part.end) - max(start, part.start))
    return n_bytes == 0


def merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same addresses as spans that do not touch each other, in order."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            start, end = found[-1][0], max(end, found.pop()[1])
        found.append((start, end))
    return found


def may_read(pid: int) -> bool:
    """True if this machine lets the judge read the memory of a process of its own."""
    byte = ctypes.create_string_buffer(1)
    try:
        kernel.read_process(pid, 0, ctypes.addressof(byte), 1)
    except OSError as error:
        return error.errno == errno.EFAULT  # nothing is mapped at 0, so it was looked for
    return True
