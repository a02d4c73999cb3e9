"""A service whose cluster was lost ends, and keeps its jobs for the next start."""

import threading
from types import SimpleNamespace

from kernelwright.core.settings import Settings
from kernelwright.service.jobs import Asked, Jobs
from kernelwright.service.work import Service
from kernelwright.workers.workers import WorkersLost


class Lost:
    """Workers whose cluster is gone."""

    jobs = 2

    def target(self, settings):
        return SimpleNamespace(here=None)

    def run(self, work, **how):
        raise WorkersLost("gone", seen="nobody answers", do="start it again")

    def interrupt(self):
        pass


def test_jobs_wait_for_the_next_start(tmp_path):
    jobs, ended = Jobs(tmp_path / "jobs"), threading.Semaphore(0)
    for number in range(3):
        jobs.add("alice", Asked("relu", "task", candidate=f"candidate {number}"))
    with Service(jobs, Settings(), Lost(), on_lost=ended.release) as service:
        assert ended.acquire(timeout=30)
    assert isinstance(service.lost, WorkersLost)
    assert not ended.acquire(blocking=False)
    assert [job.state for job in jobs.all()] == ["waiting"] * 3
