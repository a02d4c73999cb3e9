"""The supervisor: root of a child's process tree, which stops it, listens to it and ends it.

It is trusted code of ours and shares the child's namespaces, not its user. The judge asks it to
stop every process (and to count those besides the worker), to resume them, to kill all but the
worker, and how the worker ended and what it printed.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import socket
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from kernelwright.core.outcome import ReasonCode
from kernelwright.judge.sandbox import isolation, namespaces, protocol, worker
from kernelwright.judge.sandbox import kernel_calls as kernel
from kernelwright.judge.sandbox.processes import below, is_still, is_stopped, living_thread

MAX_LOG_BYTES = 64 << 10  # of a candidate's output; reasons quote the last lines
EXPLAINED = {
    ReasonCode.TOOK_TOO_MUCH_MEMORY: "it took more memory than it may",
    ReasonCode.FILLED_DISK: "the disk that its scratch lies on lost most of its free space",
    ReasonCode.RESISTED_OOM: "it took back that it is the first to be ended where memory is short",
}
"""Why it ends everything: a code for the judge, and words that follow the printed output."""
WATCH_S, REST_S = 0.1, 1.0
"""The interval between measurements of its memory, and while the worker stands still: a measurement
takes half a millisecond of a core that another's timed call may need."""
SOCKET_BYTES = 208 << 10
"""The data that may wait in one socket (wmem_default, socket(7)); it is no process's memory."""
COMMON_BYTES = 2 << 30
"""Shared pages that are not counted: torch's libraries, and the arguments."""
MOST_SHARE = 0.5
"""The share of a disk's free space, and of its free files, that a child may take."""
END_WAIT_S = 2.0
"""The time that a worker that has closed its channel may take to end."""
STOP_WAIT_S, STEP_S = 10.0, 0.01
"""The time that a worker may take to stand still, for a driver's calls are not interrupted; and the
interval after which processes that block its standstill are resumed for a step."""
PAUSE_S = 50e-6
"""The interval of polling for a process that is to stop or end: it may wait for the core that the
supervisor is on."""


def enter_sandbox(
    plan: isolation.Plan, worker_fd: int, completion_fd: int, supervisor_fd: int
) -> NoReturn:
    """Enter the namespaces, start the supervisor inside, and end with it."""
    fds = (worker_fd, completion_fd, supervisor_fd)
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        with _reporting_failure(worker_fd):
            entered = namespaces.enter_namespaces(plan)
            kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
            pid = os.fork()
        if pid == 0:
            _run_supervisor(plan, entered, *fds)
        for fd in fds:
            os.close(fd)
        os.waitpid(pid, 0)
    finally:
        os._exit(0)


@contextlib.contextmanager
def _reporting_failure(worker_fd: int) -> Iterator[None]:
    """Tell the judge, which waits for a greeting, why a child cannot start."""
    try:
        yield
    except (OSError, ValueError) as error:
        protocol.send_reply(socket.socket(fileno=worker_fd), {"failed": str(error)})
        os._exit(1)


def _run_supervisor(
    plan: isolation.Plan,
    entered: namespaces.Entered,
    worker_fd: int,
    completion_fd: int,
    supervisor_fd: int,
) -> NoReturn:
    """Finish the isolation, fork the worker, then serve the judge."""
    try:
        kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
        kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
        granted = set(entered.granted)
        with contextlib.suppress(OSError):
            kernel.leave_keyrings()
        if is_moved := "filesystem" in granted:
            with _reporting_failure(worker_fd):
                namespaces.build_root(plan)
        with contextlib.suppress(OSError):
            # Where memory runs out unseen, a candidate is the first to be ended, long before a
            # library setting, which may be the larger process.
            Path("/proc/self/oom_score_adj").write_text("500" if plan.is_trusted else "1000")
        os.chdir(isolation.SCRATCH if is_moved else plan.scratch)
        out_read, out_write = os.pipe()
        with _reporting_failure(worker_fd):
            pid = os.fork()
        if pid == 0:
            os.close(supervisor_fd)
            _run_worker(plan, entered, granted, (worker_fd, completion_fd, out_write))
        for fd in (worker_fd, completion_fd, out_write):
            os.close(fd)
        os.set_blocking(out_read, False)
        kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
        with contextlib.suppress(OSError):
            # Ahead of the processes that it stops: those beside the worker run until then.
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(2))
        is_watched = not plan.is_trusted
        in_memory = isolation.IN_MEMORY if is_watched and is_moved else ()
        _Supervisor(
            pid,
            socket.socket(fileno=supervisor_fd),
            out_read,
            owns_namespace="processes" in granted,
            usage=MemoryUsage(plan.memory_bytes, in_memory),
            cores=plan.options.cores,
            disk=Disk(plan.folder) if is_watched and not is_moved else None,
        ).serve()
    finally:
        os._exit(1)


def _run_worker(
    plan: isolation.Plan, entered: namespaces.Entered, granted: set[str], fds: tuple[int, int, int]
) -> NoReturn:
    try:
        # Above the numbers that they get, so that no move overwrites one that is still needed.
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 100) for fd in fds]
        os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
        worker_fd, completion_fd, out_fd = high
        for fd, number in ((out_fd, 1), (out_fd, 2), (worker_fd, 3), (completion_fd, 4)):
            os.dup2(fd, number)
        os.closerange(5, 65536)
        if "filesystem" not in granted:
            _keep_in(plan.scratch)
        tempfile.tempdir = None  # the folder that its parent found may not be there
        with _reporting_failure(3):
            granted |= isolation.give_up_rights(
                plan, granted, in_user_namespace=entered.in_user_namespace
            )
        kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        sock = socket.socket(fileno=3)
        protocol.send_reply(sock, {"granted": sorted(granted)})
        worker.serve(sock, socket.socket(fileno=4))
    finally:
        os._exit(0)


def _keep_in(scratch: str) -> None:
    """Have compilers and other libraries keep their files in this scratch folder.

    Source:
        torch/_inductor/codecache.py decides where headers lie when it is imported; a shared fork
        server has imported it.
    """
    os.environ.update(isolation.scratch_variables(scratch))
    codecache = sys.modules.get("torch._inductor.codecache")
    for name in ("_HEADER_DIR", "_HEADER_LOCK_DIR"):
        if hasattr(codecache, name):
            below_scratch = os.path.relpath(getattr(codecache, name), isolation.SCRATCH)
            setattr(codecache, name, os.path.join(scratch, below_scratch))


@dataclass
class _Supervisor:
    worker: int
    sock: socket.socket
    out_fd: int
    owns_namespace: bool
    usage: MemoryUsage
    cores: tuple[int, ...] = ()
    """The cores that its processes are confined to when they first stand still; empty: all."""
    disk: Disk | None = None
    """The disk that its scratch lies on, if that is not in memory."""
    status: int | None = None
    log: bytearray = field(default_factory=bytearray)
    why: ReasonCode | None = None
    """Why it has ended everything, if it has."""

    def serve(self) -> None:
        """Answer until the judge closes the socket; then everything inside is killed."""
        answers = {"stop": self.stop, "go_on": self.go_on, "clear": self.clear, "ended": self.ended}
        watched: list[Any] = [self.sock, self.out_fd]
        measured_s = 0.0
        while True:
            ready, _, _ = select.select(watched, [], [], WATCH_S)
            if self.out_fd in ready and not self.drain():
                watched.remove(self.out_fd)
            if self.sock in ready:
                try:
                    request, _ = protocol.receive_request(self.sock)
                    protocol.send_reply(self.sock, answers[request]())
                except protocol.Closed:
                    self.signal_all(signal.SIGKILL)
                    os._exit(0)
            # A candidate that prints all the time must not keep it from measuring.
            is_due = time.monotonic() - measured_s > REST_S
            if is_due or not (ready or is_stopped(self.worker)):
                measured_s = time.monotonic()
                self.enforce_limits()

    def drain(self) -> bool:
        """Take the output printed so far and keep its end; whether there may be more."""
        try:
            some = os.read(self.out_fd, 1 << 16)
        except BlockingIOError:
            return True
        self.log += some
        del self.log[:-MAX_LOG_BYTES]
        return bool(some)

    def others(self) -> list[int]:
        """Living processes of the child besides its worker."""
        return [p for p in below(os.getpid()) if p != self.worker and living_thread(p) is not None]

    def enforce_limits(self) -> None:
        """End everything if it took more memory than it may, if a disk fills up, or if a process
        would have others ended before itself where memory is short. End everything also if the
        worker has ended: others hold its channels open, and the judge would wait for them."""
        why, own_score = None, _oom_score("self")
        if self.usage.is_exceeded():
            why = ReasonCode.TOOK_TOO_MUCH_MEMORY
        elif self.disk is not None and self.disk.is_filled():
            why = ReasonCode.FILLED_DISK
        elif any(_oom_score(pid) < own_score for pid in below(os.getpid())):
            why = ReasonCode.RESISTED_OOM
        if why:
            self.why = self.why or why
            self.log += f"\nkilled: {EXPLAINED[why]}\n".encode()
            self.signal_all(signal.SIGKILL)
        elif living_thread(self.worker) is None:
            self.signal_all(signal.SIGKILL)

    def signal_all(self, number: int) -> None:
        if self.owns_namespace:
            with contextlib.suppress(ProcessLookupError):
                os.kill(-1, number)
            return
        signalled: set[int] = set()
        while rest := set(below(os.getpid())) - signalled:
            for pid in rest:
                with contextlib.suppress(OSError):
                    os.kill(pid, number)
            signalled |= rest

    def stop(self) -> dict[str, Any]:
        """Stop every process; returns when all threads of the worker stand still, and will.

        A process that starts a program with vfork(2) waits until the program begins, and stops no
        sooner. Where the new process was stopped before that, it is resumed for a moment. It
        counts, though it ends then.
        """
        self.signal_all(signal.SIGSTOP)
        end_s, n_others = time.monotonic() + STOP_WAIT_S, 0
        while (still := self.others_at_rest()) is None and time.monotonic() < end_s:
            others = self.others()
            n_others = max(n_others, len(others))
            for number in (signal.SIGCONT, signal.SIGSTOP):
                for pid in others:
                    with contextlib.suppress(OSError):
                        os.kill(pid, number)
                time.sleep(STEP_S / 10)
            self.signal_all(signal.SIGSTOP)  # those too that were started meanwhile
        if still is None:
            return {"stopped": False, "others": n_others}
        if self.cores:
            self.confine()
        return {"stopped": True, "others": max(n_others, len(still))}

    def others_at_rest(self) -> list[int] | None:
        """The other processes, once all stand still; None where one must run a step first.

        The worker is checked again last. Where the last process ends that ties a stopped group to
        its session, the kernel resumes the group; and no signal stops a process that is ending.
        """
        end_s = time.monotonic() + STEP_S
        while time.monotonic() < end_s:
            if self.stands_still():
                others = self.others()
                if all(map(is_still, others)) and self.stands_still():
                    return others
            time.sleep(PAUSE_S)
        return None

    def stands_still(self) -> bool:
        """True if the worker is stopped, in all of its threads, or has ended."""
        flags = os.WSTOPPED | os.WEXITED | os.WNOWAIT | os.WNOHANG
        return self.status is not None or os.waitid(os.P_PID, self.worker, flags) is not None

    def confine(self) -> None:
        """Put the worker's main thread on the cores, and each of its others on one of them.

        New threads and processes inherit that, and are refused the call that would undo it: a
        process that ends before the call does would otherwise be a thread that nobody counts.
        """
        for pid in below(os.getpid()):
            with contextlib.suppress(OSError):
                threads = sorted(map(int, os.listdir(f"/proc/{pid}/task")))
                for number, thread in enumerate(threads):
                    own = {self.cores[number % len(self.cores)]} if number else set(self.cores)
                    os.sched_setaffinity(thread, own)
        self.cores = ()

    def go_on(self) -> dict[str, Any]:
        """Resume every process: a build's compilers too."""
        self.signal_all(signal.SIGCONT)
        return {}

    def clear(self) -> dict[str, Any]:
        """Kill every process but the worker; returns when they are gone, and it stands still."""
        end_s = time.monotonic() + END_WAIT_S
        while (others := self.others()) and time.monotonic() < end_s:
            for pid in others:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(PAUSE_S)
            self.reap()
        return self.stop()

    def reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG)) != (0, 0):
                if ended[0] == self.worker:
                    self.status = ended[1]

    def ended(self) -> dict[str, Any]:
        """The end of the worker: its exit code, or the negative number of a signal."""
        end_s = time.monotonic() + END_WAIT_S
        self.reap()
        while self.status is None and time.monotonic() < end_s:
            time.sleep(0.005)
            self.reap()
        self.drain()
        code = None if self.status is None else os.waitstatus_to_exitcode(self.status)
        return {"code": code, "log": self.log.decode(errors="replace"), "why": self.why}


@dataclass(frozen=True)
class MemoryUsage:
    """The memory of all processes below this one."""

    max_bytes: int
    in_memory: tuple[str, ...] = ()
    """Folders that are file systems in memory."""

    def is_exceeded(self) -> bool:
        """True if they hold more than ``max_bytes``: in their own pages and the tables of these, in
        files in memory, mapped, open or not, and in sockets."""
        own, shared = 0, 0
        files: dict[str | int, int] = {}
        for pid in below(os.getpid()):
            at = f"/proc/{pid}/task/{living_thread(pid)}"
            held = held_bytes(at)
            # The tables may exceed the pages: all of a process's pages may be the same one.
            own += held["RssAnon"] + held["VmPTE"]
            shared += max(0, held["RssFile"] + held["RssShmem"] - COMMON_BYTES)
            files |= open_memory(at)
        in_files = sum(files.values()) + sum(map(_file_system_bytes, self.in_memory))
        return own + max(shared, in_files) > self.max_bytes


def held_bytes(at: str) -> Counter[str]:
    """The sizes of a process's pages by kind, and of their tables, as proc_pid_status(5) has them;
    0 if it has ended."""
    found = Counter[str]()
    # A candidate chooses the bytes of its processes' names.
    with contextlib.suppress(OSError), open(f"{at}/status", errors="replace", newline="\n") as file:
        for name, _, value in (line.partition(":") for line in file):
            if name.startswith(("Rss", "VmPTE")):
                found[name] = int(value.split()[0]) << 10
    return found


def open_memory(at: str) -> dict[str | int, int]:
    """The sizes of a process's open files that have no folder, by inode, and the data that may wait
    in its sockets."""
    found: dict[str | int, int] = {}
    with contextlib.suppress(OSError):
        for entry in os.scandir(f"{at}/fd"):
            with contextlib.suppress(OSError):
                target = os.readlink(entry.path)
                if target.startswith("socket:"):
                    found[target] = SOCKET_BYTES
                elif target.startswith("/memfd:"):
                    about = os.stat(entry.path)
                    found[about.st_ino] = about.st_blocks * 512
    return found


def _file_system_bytes(folder: str) -> int:
    """The size of all files, open or not, of a file system in memory."""
    about = os.statvfs(folder)
    return (about.f_blocks - about.f_bfree) * about.f_frsize


class Disk:
    """The disk under a folder, where a child's scratch is no file system of its own.

    It is not known whose files take its space: deleted files that are mapped appear nowhere. A
    candidate that is ended for another's files is judged once more, as after any signal.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._bytes, self._files = self._free()

    def is_filled(self) -> bool:
        """True if most of the space that was free at first is taken."""
        n_bytes, n_files = self._free()
        return n_bytes < MOST_SHARE * self._bytes or n_files < MOST_SHARE * self._files

    def _free(self) -> tuple[int, int]:
        about = os.statvfs(self._folder)
        return about.f_bavail * about.f_frsize, about.f_favail


def _oom_score(pid: int | str) -> int:
    """A process's oom_score_adj: the larger, the sooner Linux ends it for want of memory."""
    with contextlib.suppress(OSError, ValueError):
        return int(Path(f"/proc/{pid}/oom_score_adj").read_text())
    return 1000  # it has ended
