"""What the warden counts."""

import os

from kernelwright.judge.warden import _files_in_memory


def test_files_in_memory_count_whether_or_not_they_are_mapped():
    before = _files_in_memory(os.getpid())
    fd = os.memfd_create("hidden")
    try:
        os.write(fd, bytes(1 << 20))
        (number,) = set(_files_in_memory(os.getpid())) - set(before)
        assert _files_in_memory(os.getpid())[number] >= 1 << 20
    finally:
        os.close(fd)
