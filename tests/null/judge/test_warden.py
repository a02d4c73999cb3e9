"""What the warden counts."""

import mmap
import os

from kernelwright.judge.children.warden import _files_in_memory, _tables_bytes


def test_files_in_memory_count_whether_or_not_they_are_mapped():
    before = _files_in_memory("/proc/self")
    fd = os.memfd_create("hidden")
    try:
        os.write(fd, bytes(1 << 20))
        (number,) = set(_files_in_memory("/proc/self")) - set(before)
        assert _files_in_memory("/proc/self")[number] >= 1 << 20
    finally:
        os.close(fd)


def test_tables_of_pages_count_however_few_the_pages_are():
    before = _tables_bytes("/proc/self")
    how = (1 << 30, mmap.MAP_PRIVATE, mmap.PROT_READ)
    with open("/dev/zero", "rb") as zeros, mmap.mmap(zeros.fileno(), *how) as mapped:
        for at in range(0, 1 << 30, 2 << 20):  # one page of each table
            assert mapped[at] == 0
        assert _tables_bytes("/proc/self") - before >= 512 * 4096
