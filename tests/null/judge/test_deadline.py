"""A build may take processor time up to its limit, however crowded the machine is."""

import contextlib
import subprocess
import sys
import time

import pytest

from kernelwright.core.errors import DeviceError
from kernelwright.judge.sandbox.deadline import BuildDeadline
from kernelwright.judge.sandbox.protocol import Late

BELOW = """
import subprocess, sys
subprocess.run([sys.executable, "-c", {inner!r}])
"""
SPINS = "while True: pass"
SLEEPS = "import time; time.sleep(60)"
IS_STARVED = """
import time
while True:
    end_s = time.process_time() + 0.02
    while time.process_time() < end_s: pass
    time.sleep(0.13)
"""


@contextlib.contextmanager
def build(inner):
    """A process whose child does the work, as a compiler does."""
    process = subprocess.Popen(
        [sys.executable, "-c", BELOW.format(inner=inner)], start_new_session=True
    )
    try:
        time.sleep(0.5)
        yield process.pid
    finally:
        subprocess.run(["kill", "-9", "--", f"-{process.pid}"], check=False)
        process.wait()


def seconds_until_late(pid, limit_s, hang_s):
    deadline, begun_s = BuildDeadline(pid, limit_s, hang_s), time.monotonic()
    with pytest.raises((Late, DeviceError)) as late:
        while True:
            deadline.check()
            time.sleep(0.02)
    return late.value, time.monotonic() - begun_s


def test_a_build_that_uses_no_processor_ends_early():
    with build(SLEEPS) as pid:
        late, took_s = seconds_until_late(pid, limit_s=20, hang_s=1)
    assert "hangs" in str(late) and took_s < 3


def test_a_build_that_uses_a_core_ends_at_its_limit():
    with build(SPINS) as pid:
        late, took_s = seconds_until_late(pid, limit_s=1, hang_s=0.5)
    assert "processor time" in str(late) and took_s >= 1


def test_a_build_that_gets_little_of_the_machine_is_no_timeout():
    with build(IS_STARVED) as pid:
        late, took_s = seconds_until_late(pid, limit_s=2, hang_s=2)
    assert isinstance(late, DeviceError) and took_s >= 4.5 * 2
