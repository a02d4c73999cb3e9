"""Pages that nobody has written are told from those that are there, as /proc/PID/pagemap has it."""

import mmap
import os

import pytest
import torch

from kernelwright.judge.sandbox import unwritten_pages
from kernelwright.judge.sandbox.outputs import Claim

N_BYTES = 8 << 20
N_PAGES = N_BYTES // mmap.PAGESIZE
PRIVATE = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS


def fresh(flags=PRIVATE, fd=-1, advice=mmap.MADV_NOHUGEPAGE):
    """Bytes that nobody has touched, from a border of huge pages on."""
    room = mmap.mmap(fd, N_BYTES + unwritten_pages.HUGE_BYTES, flags)
    room.madvise(advice)
    memory = torch.frombuffer(room, dtype=torch.uint8)
    start = -memory.data_ptr() % unwritten_pages.HUGE_BYTES
    return memory[start : start + N_BYTES]


def unwritten(memory):
    start = memory.data_ptr()
    return unwritten_pages.unwritten(os.getpid(), start, start + memory.numel())


def owed_ns(output, like=None):
    claim = Claim("the output", output.data_ptr(), tuple(output.shape), output.stride())
    return unwritten_pages.owed_ns(os.getpid(), [claim], [output if like is None else like])


def test_untouched_memory_is_not_there_and_written_memory_is():
    memory = fresh()
    assert unwritten(memory) == (0, N_PAGES)
    memory[:: 2 * mmap.PAGESIZE] = 1
    assert unwritten(memory) == (N_PAGES // 2, 0)
    memory.zero_()
    assert unwritten(memory) == (0, 0)


@pytest.mark.parametrize("advice", [mmap.MADV_NOHUGEPAGE, mmap.MADV_HUGEPAGE])
def test_zeros_that_were_only_read_are_not_a_processs_own(advice):
    memory = fresh(advice=advice)
    memory[:: mmap.PAGESIZE].sum()
    assert sum(unwritten(memory)) == N_PAGES


def test_a_files_zeros_behind_a_private_mapping_were_not_written_either():
    fd = os.memfd_create("zeros")
    os.ftruncate(fd, N_BYTES + unwritten_pages.HUGE_BYTES)
    shared, private = fresh(mmap.MAP_SHARED, fd), fresh(mmap.MAP_PRIVATE, fd)
    os.close(fd)
    shared.fill_(0)
    private[:: mmap.PAGESIZE].sum()
    assert unwritten(shared) == (0, 0)
    assert sum(unwritten(private)) == N_PAGES
    private.fill_(0)
    assert unwritten(private) == (0, 0)


def test_missing_pages_are_charged_once_and_only_those_of_the_outputs():
    assert owed_ns(torch.zeros(N_BYTES)) == 0
    whole = owed_ns(fresh())
    assert whole > 0
    rows = fresh().view(256, -1)
    assert owed_ns(rows[:, : rows.shape[1] // 2]) == pytest.approx(whole / 2, rel=0.1)
    padded = fresh().view(256, -1)
    half = padded[:, : padded.shape[1] // 2]
    half.fill_(1)
    assert owed_ns(half) == 0


def test_nothing_is_charged_on_a_machine_that_does_not_show_pages(monkeypatch):
    monkeypatch.setattr(unwritten_pages, "is_told", lambda: False)
    assert owed_ns(fresh()) == 0


def test_small_outputs_and_unreadable_processes_owe_nothing():
    assert owed_ns(fresh()[: unwritten_pages.LEAST_BYTES - 1]) == 0
    claim = Claim("the output", 1 << 61, (N_BYTES,), (1,))
    like = [torch.empty(N_BYTES, dtype=torch.uint8)]
    assert unwritten_pages.owed_ns(os.getpid(), [claim], like) == 0
    assert unwritten_pages.owed_ns(1 << 22, [claim], like) == 0
