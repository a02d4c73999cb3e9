"""The judge's side of a zygote: it is started once for an environment, and forks children."""

from __future__ import annotations

import itertools
import os
import secrets
import socket
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import psutil

from kernelwright.core.errors import DeviceError
from kernelwright.judge.children import wire
from kernelwright.judge.children.child import Child
from kernelwright.judge.children.nursery import Nursery, start_program
from kernelwright.judge.children.scratch import Scratch
from kernelwright.judge.isolation import sandbox

START_TIMEOUT_S = 120.0  # importing torch from a cold disk on a loaded machine took 40 s
FIRST_UID = 1_200_000_000  # beyond what distributions and container runtimes hand out
MEMORY_SHARE = 0.6
"""Of the machine's free memory that one child may take."""


class Zygote:
    """A process that has imported torch under one environment and forks children.

    Raises:
        DeviceError: it does not start.
    """

    def __init__(
        self, extra: Mapping[str, str], *, threads: int, nursery: Nursery | None = None
    ) -> None:
        self.scratch = Scratch()
        self.counter = itertools.count()
        ours, theirs = socket.socketpair()
        environment = sandbox.child_environment(extra, scratch=sandbox.SCRATCH, threads=threads)
        self.process = None
        with theirs:
            if nursery is None or not nursery.serve(environment, theirs):
                self.process = start_program(environment, theirs)
        self.control = ours
        self.pid: int | None = None
        """Its process, which is the parent of all children; known once it can fork."""
        self.lock = threading.Lock()

    def wait_ready(self) -> None:
        """Return when it can fork.

        Raises:
            DeviceError: it does not start.
        """
        if self.pid is not None:
            return
        try:
            deadline_s = time.monotonic() + START_TIMEOUT_S
            ready = wire.receive_frame(self.control, deadline_s=deadline_s)
        except (wire.Closed, wire.Late) as error:
            seen = b""
            if self.process is not None:
                self.process.kill()
                _, seen = self.process.communicate()
            raise DeviceError(
                "the judge's child process does not start",
                seen=seen.decode(errors="replace")[-500:] or type(error).__name__,
                do="run `kernelwright doctor`; check that torch imports in this Python",
            ) from error
        self.pid = wire.parse_reply(ready)["ready"]

    def fork(
        self,
        *,
        variables: Mapping[str, str] = MappingProxyType({}),
        cache: Path | None = None,
        refuse: frozenset[str] = frozenset(),
        memory_share: float = MEMORY_SHARE,
        cores: tuple[int, ...] = (),
        on_gpu: bool = False,
    ) -> Child:
        """A new isolated child with these ``variables`` of its environment besides the zygote's;
        its scratch is ``cache`` if given, which is kept. When it first stands still it is confined
        to ``cores``, where there are any.

        Raises:
            DeviceError: none can be made.
        """
        with self.lock:
            self.wait_ready()
            scratch = os.path.join(self.scratch.path, str(next(self.counter)))
            os.mkdir(scratch)
        # What has a cache is trusted and stays this user, to whom all that it keeps there belongs.
        # The settings of several judges together have more threads than a candidate should.
        uid = os.geteuid() if cache else FIRST_UID + secrets.randbelow(100_000_000)
        if cache is None and sandbox.can_become(uid):
            os.chown(scratch, uid, uid)
        n_processes = None if cache else sandbox.most_processes(uid)
        memory_bytes = int(psutil.virtual_memory().available * memory_share)
        plan = sandbox.Plan(
            scratch=scratch,
            uid=uid,
            limits=sandbox.Limits(memory_bytes, n_processes=n_processes),
            visible=sandbox.visible_folders(),
            variables=dict(variables),
            cache=None if cache is None else str(cache),
            cores=cores,
            refuse=refuse,
            on_gpu=on_gpu,
        )
        worker, worker_end = socket.socketpair()
        warden, warden_end = socket.socketpair()
        bell, bell_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        worker.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        with worker_end, bell_end, warden_end:
            fds = (worker_end.fileno(), bell_end.fileno(), warden_end.fileno())
            with self.lock:
                wire.send_request(self.control, plan, fds)
        try:
            # On equal terms: the library's processes copy their outputs where candidates' have to.
            return Child(worker, bell, warden, may_read=sandbox.reads_all(FIRST_UID))
        except (wire.Closed, wire.Late, wire.Garbled, OSError) as error:
            raise DeviceError(
                "no isolated process can be made",
                seen=str(error) or repr(error),
                do="see `kernelwright doctor` for what this machine grants; free memory or disk",
            ) from error

    def close(self) -> None:
        """End it and all of its children, and remove their scratch."""
        self.control.close()  # it ends then; its children die with it, and theirs with them
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process.stderr.close()
        with self.lock:  # a thread that forks just now would put another folder into it
            self.scratch.close()
