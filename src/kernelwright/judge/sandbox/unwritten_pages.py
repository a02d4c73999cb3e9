"""Pages of a result that nobody has written, on a CPU: the kernel makes them when they are read.

Fresh memory reads as zeros, and takes no time before it is touched. The judge reads a stopped
process, for which the kernel supplies missing pages. The time to make these pages is added to a
call's time, a candidate's and a library's alike: a result counts as if all of it had been written.

Source:
    /proc/PID/pagemap: Documentation/admin-guide/mm/pagemap.rst in Linux.
"""

from __future__ import annotations

import contextlib
import functools
import mmap
import os
import time
from collections.abc import Sequence

import torch

from kernelwright.judge.sandbox.outputs import Claim
from kernelwright.judge.sandbox.process_memory import mapped, merged

LEAST_BYTES = 256 << 10
"""Smaller results, taken together, are not looked at: they come from memory that exists already, or
cost less than asking the kernel for them."""
PAGE_BYTES, HUGE_BYTES = mmap.PAGESIZE, 2 << 20
SWAPPED, OF_A_FILE, ALONE = 1 << 62, 1 << 61, 1 << 56
"""Flags of a page, besides the sign bit, which says that it is present. All pages of zeros that a
process has only read are one shared page, and an unchanged page of a file is the file's: neither is
the process's ALONE."""
AT_ONCE = 1 << 14
"""Pages looked at together, whole huge ones; with more, torch starts several threads."""
TRIED_BYTES, N_TRIES = 8 << 20, 4


def owed_ns(pid: int, claims: Sequence[Claim], like: Sequence[torch.Tensor]) -> int:
    """The time to make the missing pages of a stopped process's outputs, in nanoseconds; 0 where
    this machine does not show pages, and for outputs of less than LEAST_BYTES."""
    n_bytes = sum(one.numel() * one.element_size() for one in like)
    if n_bytes < LEAST_BYTES:
        return 0
    pairs = zip(claims, like, strict=True)
    spans = merged((c.address, c.address + c.span * t.element_size()) for c, t in pairs)
    try:
        counts = [unwritten(pid, start, end) for start, end in spans if start < end]
    except OSError:
        return 0
    # The gaps between the rows of a view are no part of it.
    n_between = max(0, sum(end - start for start, end in spans) - n_bytes) // PAGE_BYTES
    n_small = sum(small for small, _ in counts)
    n_huge = sum(huge for _, huge in counts) - max(0, n_between - n_small)
    n_small -= n_between
    if max(n_small, n_huge) <= 0 or not is_told():
        return 0
    small_ns, huge_ns = _page_ns()
    return int(max(0, n_small) * small_ns + max(0, n_huge) * huge_ns)


@functools.cache
def is_told() -> bool:
    """True if this machine's map of pages shows one that has just been written."""
    page = torch.ones(2 * PAGE_BYTES, dtype=torch.uint8)
    start = page.data_ptr() + PAGE_BYTES
    try:
        return unwritten(os.getpid(), start, start + 1) == (0, 0)
    except OSError:
        return False


def unwritten(pid: int, start: int, end: int) -> tuple[int, int]:
    """The numbers of unwritten pages of a process between two addresses: in huge pages' places that
    are partly present, and in places that miss entirely.

    Raises:
        OSError: the process is gone, or this machine does not show pages.
    """
    first, last = start // PAGE_BYTES, -(-end // PAGE_BYTES)
    n_small = n_huge = 0
    with open(f"/proc/{pid}/pagemap", "rb", buffering=0) as pagemap:
        for step in range(first - first % AT_ONCE, last, AT_ONCE):
            low, high = max(first, step), min(last, step + AT_ONCE)
            told = bytearray(os.pread(pagemap.fileno(), (high - low) * 8, low * 8))
            if len(told) == (high - low) * 8:  # else nothing can be mapped there
                words = torch.frombuffer(told, dtype=torch.int64)
                small, huge = _by_stretches(~_is_own(pid, words, low), low)
                n_small, n_huge = n_small + small, n_huge + huge
    return n_small, n_huge


def _is_own(pid: int, words: torch.Tensor, first: int) -> torch.Tensor:
    """True for pages, from the ``first`` on, that hold data that was written to them.

    Shapes:
        words: (n_pages,) int64, their flags; returns (n_pages,) bool
    """
    is_there = (words < 0) | ((words & SWAPPED) != 0)
    is_own = is_there & ((words & OF_A_FILE) == 0) & ((words & (ALONE | SWAPPED)) != 0)
    if bool((is_there & ~is_own).any()):  # shared memory counts as written, too
        for part in mapped(pid):
            low, high = part.start // PAGE_BYTES - first, part.end // PAGE_BYTES - first
            if "s" in part.rights and low < len(words) and high > 0:
                is_own[max(0, low) : high] |= is_there[max(0, low) : high]
    return is_own


def _by_stretches(is_missing: torch.Tensor, first: int) -> tuple[int, int]:
    """The numbers of missing pages, from the ``first`` on, in huge pages' places that miss some and
    in places that miss all.

    Shapes:
        is_missing: (n_pages,) bool
    """
    side = HUGE_BYTES // PAGE_BYTES
    ends = (first % side, -(first + len(is_missing)) % side)
    counts = torch.nn.functional.pad(is_missing, ends).view(-1, side).sum(1)
    is_whole = torch.nn.functional.pad(is_missing, ends, value=True).view(-1, side).all(1)
    return int(counts[~is_whole].sum()), int(counts[is_whole].sum())


@functools.cache
def _page_ns() -> tuple[float, float]:
    """The nanoseconds to make a page of zeros, and a page's part of a huge page."""
    return _made_ns(mmap.MADV_NOHUGEPAGE), _made_ns(mmap.MADV_HUGEPAGE)


def _made_ns(advice: int) -> float:
    best_ns = float("inf")
    for _ in range(N_TRIES):
        room = mmap.mmap(-1, TRIED_BYTES + HUGE_BYTES, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        with contextlib.suppress(OSError):  # a kernel without huge pages
            room.madvise(advice)
        memory = torch.frombuffer(room, dtype=torch.uint8)
        start = -memory.data_ptr() % HUGE_BYTES
        pages = memory[start : start + TRIED_BYTES : PAGE_BYTES]
        start_ns = time.perf_counter_ns()
        pages.fill_(1)
        best_ns = min(best_ns, time.perf_counter_ns() - start_ns)
    return best_ns / (TRIED_BYTES // PAGE_BYTES)
