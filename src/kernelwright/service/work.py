"""The work of a service's jobs, each in a process of its own."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from kernelwright import api
from kernelwright.archive import Archive, ranking
from kernelwright.archive.conclusion import conclusion
from kernelwright.archive.receipt import Receipt
from kernelwright.batch import judge_all
from kernelwright.batch.files import CandidateFile
from kernelwright.bench import known
from kernelwright.console import answers
from kernelwright.console.progress import search_line
from kernelwright.console.terminal import error_facts
from kernelwright.core.candidate import Candidate
from kernelwright.core.errors import KernelwrightError, UsageError
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.dialects.recognised import dialect_of
from kernelwright.judge import JUDGE_VERSION, SharedForkServer
from kernelwright.judge.devices.environment import Here
from kernelwright.loaders.reference import open_reference
from kernelwright.report import facts
from kernelwright.search.result import Progress
from kernelwright.service.jobs import Asked, Job, Jobs
from kernelwright.workers.workers import Workers, WorkersLost

BEST, RECEIPT = "best.py", "receipt.json"
PRELOADED = (__name__, "kernelwright.judge.judge", "kernelwright.proposers.rules.proposer")
ROOM = "free some disk space on the server, and send it again"
DIED = "send it to `kernelwright judge` or `optimize` on a machine of yours to see the error"


def task_of(asked: Asked) -> Task:
    return Task(asked.name, "kernelbench", asked.task)


def candidate_of(asked: Asked) -> Candidate:
    text = asked.candidate or ""
    return Candidate(text, dialect_of(text), asked.entry)


@dataclass(frozen=True)
class Archived:
    """An answer that the archive has: as that of a job, and the best source of a search."""

    result: dict[str, Any]
    source: str = ""


def archived(asked: Asked, settings: Settings, here: Here) -> Archived | None:
    """The answer to a job that the archive has: a verdict, or a search that has ended."""
    task = settings.applied_to(task_of(asked))
    if asked.candidate is None:
        if known.search_of(task, settings, here) is None:
            return None
        chapter = known.chapter(task, settings, here)
        found = conclusion(chapter.history if chapter else [])
        about = {"name": task.name, "digest": task.digest}
        source = found.best[0].candidate.source if found.best else ""
        return Archived({**facts.conclusion_facts(found), "task": about}, source)
    with Archive(settings.archive) as archive:
        digest = candidate_of(asked).digest
        pairs = [
            (proposal, verdict)
            for proposal, verdict in archive.history(task.digest, judge_version=JUDGE_VERSION)
            if proposal.candidate.digest == digest and here.is_of(verdict.environment)
        ]
    latest = ranking.latest(pairs)
    return Archived(facts.evaluation_facts(latest[-1][1])) if latest else None


def settings_of(asked: Asked, settings: Settings) -> Settings:
    """The service's settings, with what a job asks for."""
    return replace(
        settings,
        budget_s=asked.budget_s or settings.budget_s,
        dialects=asked.dialects or settings.dialects,
    )


def search(
    asked: Asked,
    settings: Settings,
    folder: Path,
    workers: Workers,
    on_step: Callable[[str], None],
) -> dict[str, Any]:
    """Let workers search a task; its report and its best source are written to ``folder``."""

    def tell(progress: Progress) -> None:
        on_step(search_line(progress, 0.0))

    here = asdict(replace(settings, out=str(folder)))
    result = api.optimize(task_of(asked), on_progress=tell, workers=workers, **here)
    if result.interrupted:
        raise KeyboardInterrupt
    if result.best is not None:
        Path(folder, BEST).write_text(result.best.candidate.source)
    return answers.one_result(result).facts


def verdict(
    asked: Asked,
    settings: Settings,
    folder: Path,
    workers: Workers,
    on_step: Callable[[str], None],
) -> dict[str, Any]:
    """Let workers judge a candidate; the verdict is archived, and its receipt is written to
    ``folder``."""
    ending = workers.run(partial(_judged, asked, settings), on_step=on_step, preload=PRELOADED)
    receipt: Receipt = ending.get("the job's process", do=DIED)
    receipt.write(Path(folder, RECEIPT))
    return facts.evaluation_facts(receipt.evaluation)


def _judged(
    asked: Asked, settings: Settings, fork_server: SharedForkServer, on_step: Callable[[str], None]
) -> Receipt:
    task = task_of(asked)
    open_reference(task)
    on_step("judging")
    candidate = candidate_of(asked)
    judged = judge_all(
        task, [CandidateFile("candidate", candidate)], settings=settings, fork_server=fork_server
    )
    if judged.interrupted:
        raise KeyboardInterrupt
    found = judged.files[0].evaluation
    assert found is not None  # the candidate was read
    return Receipt(judged.task, candidate, found)


class Service:
    """Takes the jobs in the order in which they came, as many at a time as there are workers."""

    def __init__(
        self,
        jobs: Jobs,
        settings: Settings,
        workers: Workers,
        on_lost: Callable[[], None] = lambda: None,
    ) -> None:
        """``on_lost`` is called, in another thread, when ``lost`` is set."""
        self.jobs, self.settings = jobs, settings
        self.lost: WorkersLost | None = None
        """Why no job can be done any more; those that are open wait for the next start."""
        self._on_lost, self._losing = on_lost, threading.Lock()
        self.here = workers.target(settings).here
        self._workers = workers
        self._is_over = threading.Event()
        self._threads = [threading.Thread(target=self._work) for _ in range(workers.jobs)]

    def knows_task(self, asked: Asked) -> bool:
        """Whether the archive holds the task, so that somebody who may search has brought it."""
        wanted = self.settings.applied_to(task_of(asked)).digest
        with Archive(self.settings.archive) as archive, contextlib.suppress(UsageError):
            archive.task(wanted)
            return True
        return False

    def __enter__(self) -> Service:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End what runs; it waits again when the service starts the next time."""
        self._is_over.set()
        self._workers.interrupt()
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        while (job := self.jobs.take(self._is_over)) is not None:
            self._do(job)

    def _do(self, job: Job) -> None:
        """Do a job, and note how it ended. A disk that is full ends the job, not this thread."""
        work = search if job.asked.candidate is None else verdict
        settings = settings_of(job.asked, self.settings)
        folder, tell = self.jobs.folder_of(job), partial(self.jobs.show, job)
        try:
            found = work(job.asked, settings, folder, self._workers, tell)
            self.jobs.end(job, "done", result=found)
        except KeyboardInterrupt:
            self.jobs.change(job, state="waiting", progress="")
        except WorkersLost as error:
            self._is_over.set()
            self.jobs.change(job, state="waiting", progress="")
            if self._losing.acquire(blocking=False):  # the first thread that sees it
                self.lost = error
                self._on_lost()
        except KernelwrightError as error:
            self.jobs.end(job, "failed", error=error_facts(error))
        except OSError as error:
            told = {"what": "the job's files cannot be written", "seen": str(error), "do": ROOM}
            self.jobs.end(job, "failed", error=told)
