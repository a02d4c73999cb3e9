"""Jobs of a service: each is a file, so that a killed server goes on where it was."""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec

from kernelwright.archive.writer import now

State = Literal["waiting", "running", "done", "failed"]
FILE = "job.json"
_LOG = logging.getLogger("kernelwright")


class Asked(msgspec.Struct, frozen=True):
    """The work of a job: a search, or a verdict if there is a candidate."""

    name: str
    task: str
    """The text of a file in KernelBench's format."""
    candidate: str | None = None
    entry: str = "ModelNew"
    budget_s: float | None = None
    dialects: tuple[str, ...] = ()


class Job(msgspec.Struct, frozen=True):
    """A job and how far it is."""

    id: str
    user: str
    asked: Asked
    created_at: str
    state: State = "waiting"
    progress: str = ""
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None
    """'what', 'seen' and 'do'."""
    ended_at: str | None = None

    @property
    def is_open(self) -> bool:
        return self.state in ("waiting", "running")


class Jobs:
    """All jobs of a service, oldest first, in a folder of its own each."""

    def __init__(self, folder: Path) -> None:
        """Read the jobs of a folder; those that a killed server was running wait again."""
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Condition()
        self._jobs: dict[str, Job] = {}
        for path in sorted(folder.glob(f"*/{FILE}")):
            job = msgspec.json.decode(path.read_bytes(), type=Job)
            again = job.state == "running"
            self._jobs[job.id] = msgspec.structs.replace(job, state="waiting") if again else job

    def folder_of(self, job: Job) -> Path:
        """Where a job's files are: its report, its receipt, the best source."""
        return self._folder / job.id

    def add(self, user: str, asked: Asked, result: dict[str, Any] | None = None) -> Job:
        """Add a job, which is done already if there is a ``result``."""
        number = f"{time.time_ns():020d}-{secrets.token_hex(3)}"
        job = Job(number, user, asked, now())
        if result is not None:
            job = msgspec.structs.replace(job, state="done", result=result, ended_at=now())
        self._put(job)
        return job

    def get(self, number: str) -> Job | None:
        with self._lock:
            return self._jobs.get(number)

    def all(self, user: str | None = None) -> list[Job]:
        """The jobs of a user or of all, the newest first."""
        with self._lock:
            return [job for job in reversed(self._jobs.values()) if user in (None, job.user)]

    def take(self, is_over: threading.Event) -> Job | None:
        """Wait for the oldest job that waits, and begin it; None when the service is over."""
        with self._lock:
            while not is_over.is_set():
                for job in self._jobs.values():
                    if job.state == "waiting":
                        return self.change(job, state="running")
                self._lock.wait(0.5)
        return None

    def change(self, job: Job, **fields: Any) -> Job:
        """Change fields of a job, and return it as it is now.

        If the disk is full the change is known only until the server ends, and a warning says so.
        """
        with self._lock:
            job = self._jobs[job.id] = msgspec.structs.replace(self._jobs[job.id], **fields)
            try:
                self._put(job)
            except OSError as error:
                _LOG.warning("the state of job %s cannot be written: %s", job.id, error)
        return job

    def show(self, job: Job, progress: str) -> None:
        """Note how far a job is; it is not written to the disk."""
        with self._lock:
            self._jobs[job.id] = msgspec.structs.replace(self._jobs[job.id], progress=progress)

    def end(self, job: Job, state: State, **fields: Any) -> None:
        self.change(job, state=state, ended_at=now(), progress="", **fields)

    def _put(self, job: Job) -> None:
        with self._lock:
            folder = self.folder_of(job)
            folder.mkdir(exist_ok=True)
            with _replaced(folder / FILE) as partial:
                partial.write_bytes(msgspec.json.encode(job))
            self._jobs[job.id] = job
            self._lock.notify_all()


@contextlib.contextmanager
def _replaced(path: Path) -> Iterator[Path]:
    """A file that takes the place of another when it is whole."""
    partial = path.with_name(f"{path.name}.{os.getpid()}")
    yield partial
    partial.replace(path)
