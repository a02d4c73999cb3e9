"""Children of a shared fork server are isolated, know nothing of the user, and end with it."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time

import psutil
import pytest
from tests.host.judge.one_child import program
from tests.host.judge.test_isolation import hold, skip_without, start

from kernelwright.judge import SharedForkServer, SharedForkServerProcess
from kernelwright.judge.sandbox import protocol
from kernelwright.judge.sandbox.fork_server import ForkServer


@pytest.fixture(scope="module")
def fork_server():
    os.environ["A_SECRET_OF_THE_USER"] = "42"
    with SharedForkServerProcess() as one:
        yield one
    del os.environ["A_SECRET_OF_THE_USER"]


@pytest.fixture
def server(fork_server):
    one = ForkServer({"GIVEN": "7"}, threads=1, shared=fork_server)
    yield one
    one.close()


def test_granted_guarantees_hold(server):
    child = start(server)
    assert {"memory", "environment", "freeze"} <= child.granted
    hold(child)
    child.close()
    skip_without(child.granted)


def test_the_fork_server_of_a_child_is_known(server):
    child = start(server)
    assert child.pid in {below.pid for below in psutil.Process(server.pid).children(recursive=True)}
    child.close()


def test_the_environment_is_the_one_that_was_asked_for(server):
    child = server.fork()
    source = (
        "import os, torch\n"
        "assert 'A_SECRET_OF_THE_USER' not in os.environ\n"
        "assert os.environ['GIVEN'] == '7' and os.environ['OMP_NUM_THREADS'] == '1'\n"
        "class ModelNew(torch.nn.Module): pass\n"
    )
    assert "error" not in child.request("build", weights={}, program=program(source))
    child.close()


def test_children_end_with_the_channel_of_their_judge(fork_server):
    branch = fork_server.branch()
    server = ForkServer({}, threads=1, shared=branch)
    child = server.fork()
    server.control.close()
    end_s = time.monotonic() + 10
    while psutil.pid_exists(child.pid) and time.monotonic() < end_s:
        time.sleep(0.05)
    assert not psutil.pid_exists(child.pid)
    with pytest.raises((protocol.Closed, OSError)):
        server.fork()
    branch.close()
    child.close()
    server.close()


def test_without_a_shared_one_a_fork_server_is_a_program_of_its_own():
    ours, theirs = socket.socketpair()
    theirs.close()
    server = ForkServer({}, threads=1, shared=SharedForkServer(ours))
    assert server.process is not None
    start(server).close()
    server.close()


STARTS_AND_DIES = """
import os, signal
from kernelwright.judge import SharedForkServerProcess

SharedForkServerProcess().__enter__()
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_fork_server_ends_in_the_middle_of_its_imports_if_its_judge_is_killed():
    before = set(psutil.pids())
    done = subprocess.run([sys.executable, "-c", STARTS_AND_DIES], check=False)
    assert done.returncode == -signal.SIGKILL
    end_s = time.monotonic() + 3.0  # the imports take longer
    while (left := _fork_servers(set(psutil.pids()) - before)) and time.monotonic() < end_s:
        time.sleep(0.05)
    assert not left


def _fork_servers(pids):
    found = []
    for pid in pids:
        with contextlib.suppress(psutil.Error):
            process = psutil.Process(pid)
            if process.ppid() == 1 and any("fork_server_main" in w for w in process.cmdline()):
                found.append(pid)
    return found
