"""The judge works with whatever isolation a machine grants, and says what held."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import psutil
import pytest
from tests.host.judge.one_child import begin, call

from kernelwright.judge.sandbox import isolation, namespaces, protocol
from kernelwright.judge.sandbox.child import CallOptions, ChildEnded
from kernelwright.judge.sandbox.fork_server import ForkServer
from kernelwright.judge.sandbox.isolation import ChildOptions
from kernelwright.judge.sandbox.program import LibrarySetup

SOURCE = """
import ctypes, fcntl, mmap, os, platform, signal, socket, subprocess, threading, time, torch

CALLS = {"x86_64": (56, 222, 283, 60, 206), "aarch64": (220, 107, 85, 93, 0)}
CLONE, TIMER_CREATE, TIMERFD_CREATE, EXIT, IO_SETUP = CALLS[platform.machine()]
MEMFD_SECRET = 447

class ModelNew(torch.nn.Module):
    def forward(self, what):
        if what == "network":
            socket.create_connection(("127.0.0.1", 1), 1)
        elif what == "write":
            open("/etc/hostname", "a")
        elif what == "read":
            open("/etc/shells").read() if os.path.exists("/etc/shells") else open("/nothing")
        elif what == "package":
            open(PACKAGE)
        elif what == "not be the first to be ended":
            open("/proc/self/oom_score_adj", "wb", buffering=0).write(b"0")
        elif what == "signal":
            os.kill(JUDGE, 0)
        elif what == "trace":
            assert ctypes.CDLL(None).ptrace(0, 0, 0, 0) == 0
        elif what == "namespace":
            begin(0x10000000 | signal.SIGCHLD)  # CLONE_NEWUSER
        elif what == "wake by a timer":
            timer = ctypes.create_string_buffer(8)
            assert ctypes.CDLL(None).syscall(TIMER_CREATE, 1, None, timer) == 0
        elif what == "a timer in a file":
            assert ctypes.CDLL(None).syscall(TIMERFD_CREATE, 1, 0) >= 0
        elif what == "an interval timer":
            signal.setitimer(signal.ITIMER_REAL, 60)
        elif what == "read while it stands still":
            place = ctypes.create_string_buffer(8)
            assert ctypes.CDLL(None).syscall(IO_SETUP, 1, place) == 0
        elif what == "secret memory":
            assert ctypes.CDLL(None).syscall(MEMFD_SECRET, 0) >= 0
        elif what == "talk to itself":
            socket.socket().bind(("127.0.0.1", 0))
        elif what == "wake by a socket":
            fcntl.fcntl(socket.socketpair()[0], 10, signal.SIGCONT)  # F_SETSIG
        elif what == "wake by an end":
            begin(0x100 | signal.SIGCONT)  # CLONE_VM
        elif what == "wake by the end of what is above":
            assert ctypes.CDLL(None).prctl(1, signal.SIGCONT, 0, 0, 0) == 0
        elif what == "a thread with files of its own":
            begin(0x10B00)  # CLONE_THREAD, CLONE_VM, CLONE_FS, CLONE_SIGHAND
        elif what == "files of its own":
            assert ctypes.CDLL(None).close_range(60000, 60001, 2) == 0
        elif what == "keep in a socket":
            socket.socketpair()[0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22)
        elif what == "memory":
            torch.ones(1 << 40)
        elif what == "leave":
            subprocess.Popen(["sleep", "60"], start_new_session=True)
        elif what == "hide":
            self.hide(lambda: time.sleep(60))
        elif what == "hide memory":
            self.hide(lambda: (os.posix_fallocate(os.memfd_create(""), 0, 1 << 30), time.sleep(60)))
            time.sleep(60)
        elif what == "keep in folders":
            for folder in "/tmp", "/dev/shm":
                with open(f"{folder}/kept", "wb") as file:
                    os.posix_fallocate(file.fileno(), 0, 500 << 20)
            time.sleep(60)
        elif what == "orphan":
            self.wake_by_orphaning(lambda begin: (begin(), time.sleep(60)))
        elif what == "orphan slowly":
            self.wake_by_orphaning(die_slowly)
        elif what == "die":
            if os.fork() == 0:
                time.sleep(60)
            os._exit(7)
        elif what == "threads":
            for _ in range(300):
                threading.Thread(target=threading.Event().wait, daemon=True).start()
        return torch.zeros(1)

    def hide(self, work):  # in a process that is a zombie to /proc: its first thread has exited
        child = os.fork()
        if child == 0:
            threading.Thread(target=work).start()
            ctypes.CDLL(None).syscall(EXIT, 0)
        while b") Z" not in open(f"/proc/{child}/stat", "rb").read():
            time.sleep(0.01)

    def wake_by_orphaning(self, live):  # by the end of what ties its group to its session
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        os.setsid()
        group, (told, tell) = os.getpgrp(), os.pipe()
        if os.fork() == 0:
            os.setpgid(0, 0)
            if os.fork() == 0:
                os.setpgid(0, group)
                live(lambda: os.write(tell, b"."))
            os.waitpid(-1, 0)
            os._exit(0)
        os.read(told, 1)
        threading.Thread(target=exec, args=["while True: pass"], daemon=True).start()

WORKER = os.getpid()

def die_slowly(begin):  # giving memory back: no signal stops that
    room = mmap.mmap(-1, 1 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_POPULATE)
    begin()
    while b") T" not in open(f"/proc/{WORKER}/stat", "rb").read():
        pass
    os._exit(0)

def begin(flags):
    child = ctypes.CDLL(None).syscall(CLONE, ctypes.c_ulong(flags), 0, 0, 0, 0)
    if child == 0:
        os._exit(0)
    assert child > 0
"""
HOLDS = (
    ("network", "network"),
    ("filesystem", "write"),
    ("filesystem", "read"),
    ("filesystem", "not be the first to be ended"),
    ("processes", "signal"),
    ("memory", "memory"),
    ("calls", "trace"),
    ("calls", "namespace"),
    ("calls", "wake by a timer"),
    ("calls", "a timer in a file"),
    ("calls", "an interval timer"),
    ("calls", "read while it stands still"),
    ("calls", "secret memory"),
    ("calls", "talk to itself"),
    ("calls", "wake by a socket"),
    ("calls", "wake by an end"),
    ("calls", "wake by the end of what is above"),
    ("calls", "a thread with files of its own"),
    ("calls", "files of its own"),
    ("calls", "keep in a socket"),
)
EVERYTHING = frozenset({"processes", "network", "filesystem"})


@pytest.fixture(scope="module")
def server():
    one = ForkServer({}, threads=1)
    yield one
    one.close()


def start(server, refuse=frozenset(), package="", **options):
    source = SOURCE.replace("JUDGE", str(os.getpid())).replace("PACKAGE", repr(package))
    return begin(server, source, options=ChildOptions(refuse=refuse, **options))


@pytest.mark.parametrize("refuse", [frozenset(), EVERYTHING], ids=["all", "none"])
def test_a_child_runs_with_and_without_namespaces(server, refuse):
    child = start(server, refuse)
    assert {"memory", "environment", "freeze"} <= child.granted
    assert "tensor" in call(child, "nothing")
    child.close()


def test_packages_below_the_scratch_folder_can_be_read(server, monkeypatch):
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        packages = Path(folder, "site-packages")
        packages.mkdir()
        package = packages / "package.py"
        package.touch()
        monkeypatch.syspath_prepend(packages)
        child = start(server, package=str(package))
        assert "tensor" in call(child, "package")
        child.close()


READS_BUILDS = """
import os, torch

class ModelNew(torch.nn.Module):
    def forward(self, what):
        kernel = os.path.join(os.environ["KERNELWRIGHT_READY_BUILDS"], "KEY", "k.cubin")
        open(kernel, "a" if what == "write" else "r").close()
        return torch.zeros(1)
"""


@pytest.mark.parametrize("refuse", [frozenset(), EVERYTHING], ids=["all", "none"])
def test_a_child_sees_a_copy_of_the_kernels_that_were_compiled_for_it(server, tmp_path, refuse):
    entry = tmp_path / "KEY"
    entry.mkdir(mode=0o700)
    Path(entry, "k.cubin").write_text("a kernel")
    options = ChildOptions(refuse=refuse, ready=(entry,))
    child = begin(server, READS_BUILDS, options=options)
    assert "tensor" in call(child, "read")
    if "filesystem" in child.granted or "user" in child.granted:
        assert "error" in call(child, "write")
    assert Path(entry, "k.cubin").read_text() == "a kernel"
    child.close()


@pytest.mark.parametrize("refuse", [frozenset(), EVERYTHING], ids=["all", "none"])
def test_granted_guarantees_hold(server, refuse):
    child = start(server, refuse)
    hold(child)
    child.close()
    skip_without(child.granted | refuse)


def hold(child):
    """Everything that the child was granted holds."""
    for guarantee, what in HOLDS:
        if guarantee in child.granted:
            assert "error" in call(child, what), what


def skip_without(granted):
    """Say that the test is of less than it could be of, where this machine grants less."""
    if missing := {guarantee for guarantee, _ in HOLDS} - granted:
        pytest.skip(f"tested but for what this machine does not grant: {sorted(missing)}")


def test_a_child_does_not_run_between_calls(server):
    child = start(server)
    call(child, "nothing")
    before_ns = child.cpu_ns()
    time.sleep(0.2)
    assert child.cpu_ns() == before_ns
    assert child.stop() == 0
    child.close()


@pytest.mark.parametrize("refuse", [frozenset(), EVERYTHING], ids=["all", "none"])
@pytest.mark.parametrize("what", ["orphan", "orphan slowly"])
def test_no_end_of_another_process_wakes_it(server, refuse, what):
    # The kernel has a stopped group go on when the last process that ties it to its session ends.
    child = start(server, refuse)
    child.request("prepare", arguments=[what])
    child.stop()
    assert child.call(CallOptions(20)).others
    for end in (lambda: None, child.clear):
        end()
        before_ns = child.cpu_ns()
        time.sleep(0.5)
        assert child.cpu_ns() == before_ns
    child.close()


def test_a_killed_child_says_how_it_ended(server):
    child = start(server)
    os.kill(child.pid, signal.SIGSEGV)
    with pytest.raises(ChildEnded) as ended:
        child.request("prepare", arguments=[])
    assert ended.value.code == -signal.SIGSEGV
    child.close()


@pytest.mark.parametrize("ask", ["request", "call"])
def test_a_child_that_died_before_it_was_asked_is_not_taken_for_a_liar(server, ask):
    child = start(server)
    os.kill(child.pid, signal.SIGSEGV)
    assert select.select([child.worker], [], [], 10)[0]  # its end of the channel is closed
    with pytest.raises(ChildEnded) as ended:
        child.request("prepare", arguments=[]) if ask == "request" else child.call(CallOptions(10))
    assert ended.value.code == -signal.SIGSEGV
    child.close()


@pytest.mark.parametrize("refuse", [frozenset(), EVERYTHING], ids=["all", "none"])
def test_all_of_a_childs_processes_end_with_it(server, refuse):
    child = start(server, refuse)
    call(child, "leave")
    child.close()
    deadline = time.monotonic() + 10
    while left := living(server):
        assert time.monotonic() < deadline, left
        time.sleep(0.02)


@pytest.mark.parametrize("refuse", [frozenset(), EVERYTHING], ids=["all", "none"])
def test_a_process_that_looks_dead_is_seen_and_ends_with_the_others(server, refuse):
    child = start(server, refuse)
    child.request("prepare", arguments=["hide"])
    child.stop()
    assert child.call(CallOptions(20)).others == 1
    child.clear()
    child.request("prepare", arguments=["nothing"])
    child.stop()
    assert child.call(CallOptions(20)).others == 0
    child.close()


def test_memory_of_a_process_that_looks_dead_is_counted(server):
    child = start(server, memory_share=(900 << 20) / psutil.virtual_memory().available)
    child.request("prepare", arguments=["hide memory"])
    child.stop()
    with pytest.raises(ChildEnded) as ended:
        child.call(CallOptions(50))
    assert "it took more memory than it may" in ended.value.log
    child.close()


def test_files_that_no_process_has_open_count_as_memory(server):
    child = start(server, memory_share=(900 << 20) / psutil.virtual_memory().available)
    own, its = (os.readlink(f"/proc/{pid}/ns/mnt") for pid in ("self", child.pid))
    if own == its:
        pytest.skip("its folders are no file systems of its own here")
    child.request("prepare", arguments=["keep in folders"])
    child.stop()
    with pytest.raises(ChildEnded) as ended:
        child.call(CallOptions(20))
    assert "it took more memory than it may" in ended.value.log
    child.close()


@pytest.mark.parametrize("refuse", [frozenset(), EVERYTHING], ids=["all", "none"])
def test_the_judge_does_not_wait_for_processes_of_a_worker_that_ended(server, refuse):
    child = start(server, refuse)
    child.request("prepare", arguments=["die"])
    child.stop()
    start_s = time.monotonic()
    with pytest.raises(ChildEnded) as ended:
        child.call(CallOptions(50))
    assert ended.value.code == 7 and time.monotonic() - start_s < 20
    child.close()


def living(server):
    found = []
    for process in psutil.Process(server.process.pid).children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            if process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def test_an_answer_before_the_question_is_garbled(server):
    child = start(server)
    child.request("prepare", arguments=["nothing"])
    child.worker.send(protocol.framed(protocol.ONE_CALL.text()))
    assert select.select([child.completion], [], [], 60)[0]
    child.stop()
    with pytest.raises(protocol.Garbled):
        child.call(CallOptions(5))
    child.close()


def test_the_library_settings_of_many_judges_have_their_threads(server, tmp_path):
    # As a machine of 64 cores would start them: four settings each, of one user.
    several = [start(server, cache=tmp_path) for _ in range(3)]
    assert all("tensor" in call(child, "threads") for child in several)
    for child in several:
        child.close()


def test_where_memory_is_short_a_candidate_ends_before_a_library_setting(server, tmp_path):
    children = [start(server), start(server, cache=tmp_path)]
    first, last = (Path(f"/proc/{child.pid}/oom_score").read_text() for child in children)
    assert int(first) > int(last) + 200  # of a thousand, beside what each of them holds
    for child in children:
        child.close()


def test_a_root_that_is_removed_while_it_is_built_does_not_come_again(tmp_path, monkeypatch):
    """As by a judge that is stopped: the folder goes, and with it what is mounted on it."""
    scratch = tmp_path / "0"
    scratch.mkdir()
    (half_done, tell), (told, go_on) = os.pipe(), os.pipe()
    monkeypatch.setattr(
        namespaces, "_show_device", lambda *_: (os.write(tell, b"."), os.read(told, 1))
    )
    if (child := os.fork()) == 0:
        try:
            plan = isolation.Plan(str(scratch), os.getuid(), 1 << 30)
            namespaces.enter_namespaces(plan)
            if os.fork() == 0:
                namespaces.build_root(plan)
            os.wait()
        finally:
            os._exit(0)
    os.close(tell)
    if not os.read(half_done, 1):
        pytest.skip("this machine grants no file system of its own")
    subprocess.run(["rm", "-rf", scratch], check=True)
    os.write(go_on, b"." * 100)
    os.waitpid(child, 0)
    assert not scratch.exists()


def test_a_compilers_folder_is_not_imported_as_a_package(server, tmp_path):
    # They name folders by two letters, as z3, which torch imports where it is installed.
    (tmp_path / "q7").mkdir()
    source = "import importlib.util, torch; assert importlib.util.find_spec('q7') is None\n"
    source += "class ModelNew(torch.nn.Module): pass"
    setup = LibrarySetup(import_roots=(isolation.SCRATCH,))  # the task lies there, outside
    begin(server, source, setup, ChildOptions(cache=tmp_path)).close()


def test_a_child_that_stays_its_user_may_run_beside_that_users_processes(monkeypatch):
    alone = isolation.most_processes(4_000_000)
    monkeypatch.setattr(isolation, "can_become", lambda uid: False)
    n_threads = psutil.Process().num_threads()
    assert isolation.most_processes(os.getuid()) >= alone + n_threads
