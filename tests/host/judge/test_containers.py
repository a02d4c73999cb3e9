"""Where a container denies some of what isolates, and what a GPU's driver asks of it."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.host.judge.one_child import begin, call

from kernelwright.core.candidate import Candidate
from kernelwright.core.errors import DeviceError
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.judge import Judge, SharedForkServerProcess
from kernelwright.judge.sandbox import kernel_calls, landlock, seccomp
from kernelwright.judge.sandbox.child import ChildEnded
from kernelwright.judge.sandbox.fork_server import ForkServer
from kernelwright.judge.sandbox.isolation import ChildOptions

SOURCE = """
import os, threading, torch

class ModelNew(torch.nn.Module):
    def forward(self, what):
        if what == "name a thread":  # as CUDA does when it starts
            ready = threading.Event()
            thread = threading.Thread(target=ready.wait)
            thread.start()
            with open(f"/proc/{os.getpid()}/task/{thread.native_id}/comm", "w") as file:
                file.write("named")
            ready.set()
        elif what == "end others first":
            with open("/proc/self/oom_score_adj", "w") as file:
                file.write("0")
        elif what == "set the kernel":
            open("/proc/sys/kernel/core_pattern", "a")
        elif what == "read":
            open("/etc/shells")
        elif what == "keep":
            open("kept", "w")
        return torch.zeros(1)
"""
TASK = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return torch.sigmoid(x).sum(-1)

def get_inputs():
    return [torch.randn(64, 256)]

def get_init_inputs():
    return []
"""
DENYING = """#!{python} -I
import os, sys
sys.path[:0] = {path!r}
from kernelwright.judge.sandbox import kernel_calls
from kernelwright.judge.sandbox import landlock
from kernelwright.judge.sandbox import seccomp

CAP_SYS_RESOURCE = 24  # Docker does not give it
if os.geteuid() == 0:
    for capability in (CAP_SYS_RESOURCE, *{without}):
        kernel_calls.prctl(kernel_calls.PR_CAPBSET_DROP, capability)
seccomp.DENIED, seccomp.DENIED_WITH = {denied!r}, {{}}
kernel_calls.prctl(kernel_calls.PR_SET_NO_NEW_PRIVS, 1)
seccomp.install(only_local_sockets=False)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""

STANDING_STILL = """
from kernelwright.judge.sandbox.fork_server import ForkServer

server = ForkServer({}, threads=1)
child = server.fork()
child.stop()
print(*child.granted)
child.close()
server.close()
"""
BOTH_KINDS = """
import pathlib, tempfile
from kernelwright.judge.sandbox.fork_server import ForkServer
from kernelwright.judge.sandbox.isolation import ChildOptions

server = ForkServer({}, threads=1)
with tempfile.TemporaryDirectory() as cache:
    for cache in (pathlib.Path(cache), None):
        child = server.fork(ChildOptions(cache=cache))
        print(child.is_readable)
        child.close()
server.close()
"""
CAP_SETUID, CAP_SYS_PTRACE = 7, 19  # include/uapi/linux/capability.h
BESIDE_DENIED = {"landlock": (landlock.CREATE_RULESET,) * 2, "capset": (126, 91)}


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine that denies some system calls and gives root no right to be ended last."""
    made = []

    def denying(*names, without=()):
        program = tmp_path / "python"
        denied = {name: (seccomp.DENIED | BESIDE_DENIED)[name] for name in names}
        told = {"python": sys.executable, "path": sys.path, "denied": denied, "without": without}
        program.write_text(DENYING.format(**told))
        program.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(program))
        made.append(ForkServer({}, threads=1))
        return made[-1]

    yield denying
    for server in made:
        server.close()


def start(server, **options):
    return begin(server, SOURCE, options=ChildOptions(**options))


@pytest.mark.parametrize("denied", ["mount", "unshare"])
def test_a_child_runs_where_a_container_denies(machine, denied):
    child = start(machine(denied))
    assert "tensor" in call(child, "nothing")
    if "filesystem" in child.granted:  # by Landlock
        assert "error" in call(child, "read")
    child.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="capabilities are root's")
@pytest.mark.parametrize("capability", [0, 5, 6, 7], ids=["chown", "kill", "setgid", "setuid"])
def test_root_stays_root_without_the_capabilities_to_become_another_user(capability):
    def drop():
        kernel_calls.prctl(kernel_calls.PR_CAPBSET_DROP, capability)

    command = [sys.executable, "-c", STANDING_STILL]
    done = subprocess.run(command, preexec_fn=drop, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "memory" in done.stdout.split()
    assert "user" not in done.stdout.split()


@pytest.mark.parametrize("denied", [(), ("unshare",)], ids=["nothing", "unshare"])
def test_files_of_library_settings_belong_to_the_user(machine, denied, tmp_path):
    cache = tmp_path / "cache"
    cache.mkdir()
    server = machine(*denied)
    children = [start(server, cache=cache) for _ in range(2)]
    for child in children:
        assert "tensor" in call(child, "keep")
        child.close()
    assert (cache / "kept").stat().st_uid == cache.stat().st_uid == os.geteuid()


@pytest.mark.usefixtures("few_settings")
def test_the_compiler_works_where_namespaces_are_refused(machine, tmp_path, monkeypatch):
    # Forked from what has imported it, where its folders were to be in another's /tmp.
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    machine("unshare")
    settings = Settings(threads=1)
    with (
        SharedForkServerProcess() as fork_server,
        Judge(Task("sum", "builtin", TASK), settings=settings, fork_server=fork_server) as judge,
    ):
        verdict = judge.evaluate(Candidate(f"{TASK}\nModelNew = Model\n", "torch"))
        assert verdict.passed and not judge.dropped, (verdict.reasons, judge.dropped)


@pytest.mark.parametrize("denied", [(), ("unshare",)], ids=["nothing", "unshare"])
def test_a_gpus_driver_may_name_its_threads(machine, denied):
    child = start(machine(*denied), on_gpu=True)
    if os.access("/proc/sys/kernel/core_pattern", os.W_OK) and "user" not in child.granted:
        pytest.skip("it stays root, as Python lies in root's home, and could set the kernel")
    assert "tensor" in call(child, "name a thread")
    child.close()


@pytest.mark.parametrize("denied", [("unshare",), ("unshare", "landlock")], ids=len)
def test_outputs_of_a_candidate_and_of_the_library_are_taken_in_one_way(machine, denied):
    machine(*denied, without=[CAP_SYS_PTRACE])
    done = subprocess.run([sys.executable, "-c", BOTH_KINDS], capture_output=True, text=True)
    of_library, of_candidate = done.stdout.split()
    assert of_library == of_candidate
    assert of_library == "True" or "landlock" in denied


def test_a_rootless_containers_root_makes_children_of_both_kinds():
    uid, gid = os.geteuid(), os.getegid()

    def enter():
        kernel_calls.unshare("user")
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {uid} 1")
        Path("/proc/self/gid_map").write_text(f"0 {gid} 1")

    command = [sys.executable, "-c", BOTH_KINDS]
    try:
        done = subprocess.run(command, preexec_fn=enter, capture_output=True, text=True)
    except subprocess.SubprocessError:
        pytest.skip("this machine refuses user namespaces")
    assert done.stdout.split() == ["True", "True"], done.stderr


@pytest.mark.parametrize("limit, most", [("NOFILE", 256), ("FSIZE", 1 << 30), ("DATA", 2 << 30)])
def test_a_child_runs_below_the_users_own_limits(limit, most):
    done = _run_below(getattr(resource, f"RLIMIT_{limit}"), most)
    assert "memory" in done.stdout.split(), done.stderr


def test_the_reason_why_a_child_cannot_start_is_reported(machine):
    with pytest.raises(DeviceError, match="capset: Operation not permitted"):
        machine("capset").fork()


def _run_below(limit, most):
    def lower():
        if os.geteuid() == 0:
            kernel_calls.prctl(kernel_calls.PR_CAPBSET_DROP, 24)  # CAP_SYS_RESOURCE
        resource.setrlimit(limit, (most, most))

    command = [sys.executable, "-c", STANDING_STILL]
    return subprocess.run(command, preexec_fn=lower, capture_output=True, text=True)


def test_a_child_that_stays_root_cannot_set_the_kernel(machine):
    child = start(machine(without=[CAP_SETUID]), on_gpu=True)
    assert "user" not in child.granted
    assert "error" in call(child, "set the kernel")
    child.close()


def test_a_users_variables_are_not_kept_where_all_processes_can_be_read(machine):
    child = start(machine("unshare", "landlock"))
    assert ("environment" in child.granted) == ("user" in child.granted)
    child.close()


def test_a_child_that_would_have_others_ended_first_is_ended(machine):
    child = start(machine(), on_gpu=True)
    with pytest.raises(ChildEnded) as ended:  # in the first call, or when it has gone on
        if "tensor" not in call(child, "end others first"):
            pytest.skip("it writes nothing to /proc here")
        child.go_on()
        deadline_s = time.monotonic() + 20
        while time.monotonic() < deadline_s:
            child.request("prepare", arguments=["nothing"])
            time.sleep(0.1)
    assert "it took back that it is the first to be ended" in ended.value.log
    child.close()
