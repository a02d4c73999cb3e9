"""Children of a nursery are as isolated as others, know nothing of the user, and end with it."""

from __future__ import annotations

import os
import socket
import time

import psutil
import pytest
from tests.host.judge.test_isolation import hold, skip_without, start

from kernelwright.judge import Nursery, WarmProgram
from kernelwright.judge.children import wire
from kernelwright.judge.children.forking import Zygote


@pytest.fixture(scope="module")
def nursery():
    os.environ["A_SECRET_OF_THE_USER"] = "42"
    with WarmProgram() as one:
        yield one
    del os.environ["A_SECRET_OF_THE_USER"]


@pytest.fixture
def zygote(nursery):
    one = Zygote({"GIVEN": "7"}, threads=1, nursery=nursery)
    yield one
    one.close()


def test_what_is_granted_holds(zygote):
    child = start(zygote)
    assert {"memory", "environment", "freeze"} <= child.granted
    hold(child)
    child.close()
    skip_without(child.granted)


def test_whose_children_they_are_is_known(zygote):
    child = start(zygote)
    assert child.pid in {below.pid for below in psutil.Process(zygote.pid).children(recursive=True)}
    child.close()


def test_the_environment_is_the_one_that_was_asked_for(zygote):
    child = zygote.fork()
    source = (
        "import os, torch\n"
        "assert 'A_SECRET_OF_THE_USER' not in os.environ\n"
        "assert os.environ['GIVEN'] == '7' and os.environ['OMP_NUM_THREADS'] == '1'\n"
        "class ModelNew(torch.nn.Module): pass\n"
    )
    program = {"source": source, "entry": "ModelNew", "initial": b"\x80\x04]\x94.", "seed": 0}
    assert "error" not in child.request("build", weights={}, setting={}, **program)
    child.close()


def test_children_end_with_the_channel_of_whoever_asked(nursery):
    branch = nursery.branch()
    zygote = Zygote({}, threads=1, nursery=branch)
    child = zygote.fork()
    zygote.control.close()
    end_s = time.monotonic() + 10
    while psutil.pid_exists(child.pid) and time.monotonic() < end_s:
        time.sleep(0.05)
    assert not psutil.pid_exists(child.pid)
    with pytest.raises((wire.Closed, OSError)):
        zygote.fork()
    branch.close()
    child.close()
    zygote.close()


def test_without_the_nursery_a_zygote_is_a_program_of_its_own():
    ours, theirs = socket.socketpair()
    theirs.close()
    zygote = Zygote({}, threads=1, nursery=Nursery(ours))
    assert zygote.process is not None
    start(zygote).close()
    zygote.close()
