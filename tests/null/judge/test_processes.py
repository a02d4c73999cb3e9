"""Who lives beside a worker, whatever /proc says of the process as a whole."""

import contextlib
import os
import signal
import subprocess
import sys
import time

import pytest

from kernelwright.judge.sandbox.processes import beside, is_stopped, living_thread

ABOVE = """
import ctypes, os, platform, subprocess, sys, threading, time
EXIT = {"x86_64": 60, "aarch64": 93}[platform.machine()]
worker = subprocess.Popen(["sleep", "60"])
if os.fork() == 0:
    if sys.argv[1] == "ended":
        os._exit(0)
    if sys.argv[1] == "without its first thread":
        threading.Thread(target=time.sleep, args=(60,)).start()
        ctypes.CDLL(None).syscall(EXIT, 0)
    time.sleep(60)
print(worker.pid, flush=True)
time.sleep(60)
"""


@contextlib.contextmanager
def worker_beside(kind):
    """The worker of a process that has started another one besides."""
    command = [sys.executable, "-c", ABOVE, kind]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as above:
        try:
            yield int(above.stdout.readline())
        finally:
            os.killpg(above.pid, signal.SIGKILL)


@pytest.mark.parametrize("kind", ["usual", "without its first thread", "ended"])
def test_a_process_beside_a_worker_is_seen_until_it_has_ended(kind):
    """One that has ended stays there until somebody asks what became of it."""
    with worker_beside(kind) as worker:
        n_seen, end_s = int(kind != "ended"), time.monotonic() + 20
        while len(beside(worker)) != n_seen and time.monotonic() < end_s:
            time.sleep(0.01)
        assert len(beside(worker)) == n_seen


def test_a_process_that_is_gone_has_no_living_thread():
    with subprocess.Popen(["true"]) as one:
        one.wait()
    assert living_thread(one.pid) is None
    assert living_thread(os.getpid()) in map(int, os.listdir("/proc/self/task"))


def test_a_stopped_process_shows_it_until_it_is_resumed():
    with subprocess.Popen(["sleep", "60"]) as one:
        for number, shows in ((signal.SIGSTOP, True), (signal.SIGCONT, False)):
            one.send_signal(number)
            end_s = time.monotonic() + 20
            while is_stopped(one.pid) != shows and time.monotonic() < end_s:
                time.sleep(0.01)
            assert is_stopped(one.pid) == shows
        one.kill()
