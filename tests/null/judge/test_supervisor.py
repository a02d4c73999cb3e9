"""The memory that the supervisor counts, and that it waits without working."""

import contextlib
import ctypes
import mmap
import os
import socket
import subprocess
import threading
import time
from types import SimpleNamespace

from kernelwright.judge.sandbox import kernel_calls
from kernelwright.judge.sandbox.supervisor import (
    STEP_S,
    Disk,
    MemoryUsage,
    _Supervisor,
    held_bytes,
    open_memory,
)

PR_SET_NAME = 15  # include/uapi/linux/prctl.h


def test_files_in_memory_count_whether_or_not_they_are_mapped():
    before = open_memory("/proc/self")
    fd = os.memfd_create("hidden")
    try:
        os.write(fd, bytes(1 << 20))
        (number,) = set(open_memory("/proc/self")) - set(before)
        assert open_memory("/proc/self")[number] >= 1 << 20
    finally:
        os.close(fd)


def test_sockets_count_as_what_they_may_hold():
    before = sum(open_memory("/proc/self").values())
    ends = socket.socketpair()
    for end in ends:
        end.setblocking(False)
    n_held = 0
    with contextlib.suppress(BlockingIOError):
        while True:
            n_held += ends[0].send(bytes(1 << 12))
    assert sum(open_memory("/proc/self").values()) - before >= 2 * n_held > 1 << 16
    for end in ends:
        end.close()


def test_tables_of_pages_count_however_few_the_pages_are():
    before = held_bytes("/proc/self")["VmPTE"]
    size = 1 << 30
    with (
        open("/dev/zero", "rb") as zeros,
        mmap.mmap(zeros.fileno(), size, mmap.MAP_PRIVATE, mmap.PROT_READ) as mapped,
    ):
        for at in range(0, 1 << 30, 2 << 20):  # one page of each table
            assert mapped[at] == 0
        assert held_bytes("/proc/self")["VmPTE"] - before >= 512 * 4096


def test_a_name_that_is_no_text_hides_no_memory():
    kernel_calls.prctl(PR_SET_NAME, ctypes.addressof(ctypes.create_string_buffer(b"\xff\rVmPTE:x")))
    assert held_bytes(f"/proc/self/task/{threading.get_native_id()}")["RssAnon"] > 0


def test_it_leaves_the_core_to_the_process_that_it_waits_for():
    # It runs before the worker: where it polled on the worker's core, no thread of that one
    # stopped for 7 ms, in one call of twenty on two cores.
    with subprocess.Popen(["sleep", "60"]) as runs_on:
        supervisor = _Supervisor(runs_on.pid, None, -1, False, MemoryUsage(0))
        worked_s = -time.process_time()
        assert supervisor.others_at_rest() is None
        worked_s += time.process_time()
        runs_on.kill()
    assert worked_s < STEP_S / 2


def test_a_child_that_fills_a_disk_that_others_use_is_ended(tmp_path, monkeypatch):
    free = {"f_bavail": 1000, "f_frsize": 4096, "f_favail": 1000}
    monkeypatch.setattr(os, "statvfs", lambda folder: SimpleNamespace(**free))
    with subprocess.Popen(["sleep", "60"]) as child:
        supervisor = _Supervisor(
            child.pid, None, -1, False, MemoryUsage(1 << 40), disk=Disk(str(tmp_path))
        )
        monkeypatch.setattr(supervisor, "signal_all", child.send_signal)
        free["f_bavail"] = 600
        supervisor.enforce_limits()
        assert child.poll() is None
        free["f_favail"] = 400
        supervisor.enforce_limits()
        assert child.wait(10) == -9 and b"the disk that its scratch lies on" in supervisor.log
