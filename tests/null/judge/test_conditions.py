"""Clocks and neighbours: work of other programs is counted, our own is not."""

import os
import subprocess
import time

import pytest

from kernelwright.core.conditions import Conditions
from kernelwright.core.device import Device
from kernelwright.judge.devices.backend import backend_of
from kernelwright.judge.timing.conditions import MUCH, ConditionsWatch, complaints

SPIN_S = 0.6
N_CORES = len(os.sched_getaffinity(0))
ORPHAN = f"(timeout {2 * SPIN_S} sh -c 'while :; do :; done' >/dev/null 2>&1 & echo $!)"
"""A program whose parent has ended, so that it is nobody's child but init's; it says its number."""


@pytest.fixture
def watch():
    return ConditionsWatch(backend_of(Device.parse("cpu")))


def test_time_of_other_programs_is_a_neighbours(watch):
    subprocess.run(["sh", "-c", ORPHAN], check=True)
    time.sleep(SPIN_S)
    # The neighbour gets a core, or those that keep it from one are neighbours too.
    assert watch.end().neighbour_share * N_CORES > 0.3


def test_time_of_this_process_and_its_children_is_not():
    child, ended = (subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(2))
    time.sleep(SPIN_S / 2)
    watch = ConditionsWatch(backend_of(Device.parse("cpu")))
    ended.kill()
    ended.wait()
    start_s, own_s = time.monotonic(), time.process_time()
    while time.monotonic() - start_s < SPIN_S:
        pass
    took_s = (time.monotonic() - start_s) * N_CORES
    own_s = time.process_time() - own_s
    share = watch.end().neighbour_share
    child.kill()
    child.wait()
    assert share <= 1 - own_s / took_s + 0.1


def test_time_of_processes_that_a_shared_fork_server_forked_for_us_is_not(watch):
    """They are below its process, not below this one."""
    pid = subprocess.run(["sh", "-c", ORPHAN], check=True, capture_output=True).stdout
    knowing = ConditionsWatch(backend_of(Device.parse("cpu")), [int(pid)])
    time.sleep(SPIN_S)
    # Beside much else that runs it has little of a core.
    assert (watch.end().neighbour_share - knowing.end().neighbour_share) * N_CORES > 0.05


def test_the_clocks_are_those_of_before_and_after_or_absent(watch):
    found = watch.end()
    assert found.before.keys() == found.after.keys() <= {"core_mhz"}
    for facts in (found.before, found.after):
        least, most = facts.get("core_mhz", (1, 1))
        assert 0 < least <= most
    assert found.gpu_neighbour_share is None


def test_only_neighbours_that_took_a_good_part_are_named():
    assert complaints(Conditions(None)) == complaints(Conditions(MUCH, MUCH)) == []
    (busy,) = complaints(Conditions(0.34, 0.05))
    assert busy.detail == "other programs took 34% of the processor's time while it was timed"
    assert "GPU" in complaints(Conditions(None, 0.5))[0].detail
