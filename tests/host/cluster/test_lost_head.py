"""The head of a cluster is lost: a command ends with an error, and does not wait for Ray."""

import contextlib
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time

import psutil
import pytest

pytest.importorskip("ray")
COMMAND = """
import sys, time
from kernelwright.workers.cluster import ClusterWorkers
from kernelwright.workers.workers import WorkersLost
from tests.host.cluster.test_lost_head import begin

try:
    with ClusterWorkers(sys.argv[1], device="cpu") as workers:
        resident = workers.resident(begin) if sys.argv[2] == "stays" else None
        while resident and resident.state != "running":
            time.sleep(0.2)
        while True:
            found = resident.submit(begin).result() if resident else workers.run(begin).value
            print(found, flush=True)
except WorkersLost as error:
    sys.exit(error.what)
"""


def begin(fork_server=None):
    time.sleep(2.0)
    return "done"


@pytest.fixture
def head():
    """A head of its own, with a token; the process and its address."""
    folder = tempfile.mkdtemp(prefix="kw-")  # Ray's sockets need a short path
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ["start", "--head", f"--port={port}", "--num-cpus=1", "--block"]
    words += ["--include-dashboard=false", f"--temp-dir={folder}"]
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(16)}
    process = subprocess.Popen(
        [sys.executable, "-m", "ray.scripts.scripts", *words], env=os.environ | token
    )
    until = time.monotonic() + 120
    while not listens(port) and time.monotonic() < until:
        time.sleep(0.2)
    yield process, f"127.0.0.1:{port}", token
    kill(process)
    shutil.rmtree(folder, ignore_errors=True)


def listens(port):
    with socket.socket() as made:
        return made.connect_ex(("127.0.0.1", port)) == 0


def kill(process):
    with contextlib.suppress(psutil.NoSuchProcess):
        parent = psutil.Process(process.pid)
        for each in [parent, *parent.children(recursive=True)]:
            with contextlib.suppress(psutil.NoSuchProcess):
                each.kill()
    process.wait()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["comes", "stays"])
def test_a_command_ends_with_an_error(head, kind):
    process, address, token = head
    command = subprocess.Popen(
        [sys.executable, "-c", COMMAND, address, kind],
        env=os.environ | token,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert "done" in command.stdout.readline()
    kill(process)
    began_s = time.monotonic()
    try:
        _, said = command.communicate(timeout=120)
    finally:
        command.kill()
    assert "the head of the Ray cluster is gone" in said and command.returncode == 1
    assert time.monotonic() - began_s < 50
