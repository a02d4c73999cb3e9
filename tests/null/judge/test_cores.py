"""Children that are timed on one core, by a judge that polls on the others."""

import os
import subprocess
import sys

import pytest

from kernelwright.judge.timing.cores import gathered

CORES = os.sched_getaffinity(0)


@pytest.fixture
def pid():
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield child.pid
    child.kill()
    child.communicate()


@pytest.mark.skipif(len(CORES) < 2, reason="needs two cores")
def test_children_share_a_core_that_the_judge_is_off_and_get_theirs_back(pid):
    with gathered([pid]):
        first = {min(CORES)}
        assert os.sched_getaffinity(pid) == first
        assert os.sched_getaffinity(0) == CORES - first
    assert os.sched_getaffinity(pid) == os.sched_getaffinity(0) == CORES


def test_a_child_that_has_ended_is_no_fault(pid):
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    with gathered([pid]):
        pass
    assert os.sched_getaffinity(0) == CORES


@pytest.mark.skipif(len(CORES) < 2, reason="needs two cores")
def test_a_judge_with_one_core_has_nothing_to_choose(pid):
    os.sched_setaffinity(0, {min(CORES)})
    try:
        with gathered([pid]):
            assert os.sched_getaffinity(pid) == CORES
    finally:
        os.sched_setaffinity(0, CORES)
