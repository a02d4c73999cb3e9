"""What a candidate may do where namespaces are refused: it may be the user then, whose files and
servers are in sight."""

import contextlib
import os
import socket
import subprocess
import tempfile

import pytest
from tests.host.judge.one_child import program

from kernelwright.judge.sandbox import kernel_calls
from kernelwright.judge.sandbox.child import CallOptions
from kernelwright.judge.sandbox.fork_server import ForkServer
from kernelwright.judge.sandbox.isolation import ChildOptions

SOURCE = """
import os, resource, socket, torch

class ModelNew(torch.nn.Module):
    def forward(self, what):
        os.stat(AT)
        if what == "change rights":
            os.chmod(AT, 0o700)
        elif what == "change rights of what is open":
            os.fchmod(os.open("/proc/self/exe", os.O_RDONLY), 0o755)
        elif what == "change attributes":
            os.setxattr(AT, "user.kept", b"")
        elif what == "change times":
            os.utime(AT)
        elif what == "call a server":
            socket.socket(socket.AF_UNIX).connect(AT + "/server")
        elif what == "write to a server":
            ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
            ends[0].sendto(b".", AT + "/log")
        elif what == "let another run later":
            os.setpriority(os.PRIO_PROCESS, ANOTHER, os.getpriority(os.PRIO_PROCESS, ANOTHER))
        elif what == "let all of a user's run later":
            os.setpriority(os.PRIO_USER, 0, os.getpriority(os.PRIO_USER, 0))
        elif what == "let another run when nobody else does":
            os.sched_setscheduler(ANOTHER, os.SCHED_OTHER, os.sched_param(0))
        elif what == "put another on a core":
            os.sched_setaffinity(ANOTHER, os.sched_getaffinity(ANOTHER))
        elif what == "limit another":
            resource.prlimit(ANOTHER, resource.RLIMIT_CORE, (0, 0))
        return torch.zeros(1)
"""
WHAT = ("change rights", "change rights of what is open", "change attributes", "change times")
SERVERS = ("call a server", "write to a server")
OTHERS = (
    "let another run later",
    "let all of a user's run later",
    "let another run when nobody else does",
    "put another on a core",
    "limit another",
)


@pytest.fixture(scope="module")
def child():
    """Without namespaces, beside a folder with two servers that are open to all."""
    with tempfile.TemporaryDirectory() as at, contextlib.ExitStack() as stack:
        os.chmod(at, 0o777)
        for name, kind in (("server", socket.SOCK_STREAM), ("log", socket.SOCK_DGRAM)):
            one = stack.enter_context(socket.socket(socket.AF_UNIX, kind))
            one.bind(f"{at}/{name}")
            os.chmod(f"{at}/{name}", 0o777)
            if kind == socket.SOCK_STREAM:
                one.listen()
        server = stack.enter_context(contextlib.closing(ForkServer({}, threads=1)))
        found = server.fork(ChildOptions(refuse=frozenset({"processes", "network", "filesystem"})))
        stack.callback(found.close)
        if "calls" not in found.granted:
            pytest.skip("this machine filters no system calls")
        without = kernel_calls.forswear_capabilities  # as every child is
        command = ["sleep", "1000"]
        another = stack.enter_context(subprocess.Popen(command, preexec_fn=without))
        stack.callback(another.kill)
        source = SOURCE.replace("AT", repr(at)).replace("ANOTHER", str(another.pid))
        assert "error" not in (found.request("build", weights={}, program=program(source)) or {})
        yield found


@pytest.mark.parametrize("what", [*WHAT, *SERVERS, *OTHERS])
def test_a_child_changes_no_files_calls_no_servers_and_slows_no_processes(child, what):
    child.request("prepare", arguments=["nothing"])
    child.stop()
    assert "error" not in child.call(CallOptions(20)).reply
    child.request("prepare", arguments=[what])
    child.stop()
    assert "Permission" in str(child.call(CallOptions(20)).reply["error"]["type"])
