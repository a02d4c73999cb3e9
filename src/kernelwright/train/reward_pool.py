"""The processes that judge a policy's answers beside the trainer, each with its own tasks."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from functools import partial
from typing import Any

from kernelwright.core.device import Device
from kernelwright.core.errors import DeviceError
from kernelwright.core.settings import Settings
from kernelwright.train import reward_worker
from kernelwright.train.fast_judge import Fast
from kernelwright.train.reward import Judged
from kernelwright.train.reward_worker import PolicyAnswer
from kernelwright.workers.resident_pool import ResidentPool
from kernelwright.workers.residents import Resident
from kernelwright.workers.workers import Workers

MOST_LOSSES = 3
"""How often the process that judges a task may be lost before judging ends."""
_LOG = logging.getLogger("kernelwright")


class RewardPool:
    """Judges answers to several tasks side by side, and archives proposals and verdicts.

    A text that was judged before is not judged again, since a policy could otherwise repeat it
    until a measurement is lucky. Only correct candidates are timed, so that a task whose answers
    are all wrong starts no baseline. They are timed even if only correctness is rewarded, because
    timing shows whose code did the work: a file whose kernel is never called is correct too.

    The pool is a context manager that owns processes. Those on this machine are spawned, so they
    import the main module: a training script keeps its work under ``if __name__ == "__main__"``.
    A process that is killed, or is lost with its node, costs what it was doing: its tasks are sent
    to another one, which finds in the archive the verdicts that it had reached.
    """

    def __init__(
        self,
        settings: Settings,
        device: Device,
        workers: Workers,
        *,
        timed: bool = True,
        fast: Fast | None = None,
    ) -> None:
        """Start as many processes as ``workers`` has room for.

        ``device`` is resolved: verdicts from other devices do not count. ``timed`` is false for an
        examination, which needs no reward. ``fast``: let the fast judge judge, with these audits.
        """
        self.device = device
        self.n_judged = 0
        """Number of answers that had to be judged because their text was new."""
        make = partial(workers.resident, reward_worker.start, settings, device, timed, fast)
        self._residents = ResidentPool(make, workers.jobs)
        self._waiting: dict[str, list[PolicyAnswer]] = {}
        """Answers by task digest that arrived early and that no worker has started on."""
        self._begun: dict[Resident, Future[None]] = {}

    def __enter__(self) -> RewardPool:
        return self

    def __exit__(self, *_: object) -> None:
        for begun in self._begun.values():
            begun.cancel()  # its result is no longer wanted
        self._residents.shutdown(reward_worker.close)

    def begin(self, answers: Sequence[PolicyAnswer] = (), *, may_time: bool = False) -> None:
        """Start judging answers that arrive early; pass all answers to ``judge`` afterwards.

        Each idle process takes the answers to one task. Call this repeatedly, even without new
        answers, to keep the processes busy. Without ``may_time`` nothing is timed before ``judge``,
        because the device is in use.

        Raises:
            DeviceError: the machine failed while it judged answers that were passed before.
        """
        for answer in answers:
            self._waiting.setdefault(answer.task.digest, []).append(answer)
        for worker in [worker for worker, begun in self._begun.items() if begun.done()]:
            self._end(worker)
        for digest in list(self._waiting):
            worker = self._residents.find(digest)
            if worker is not None and worker not in self._begun:
                early = self._waiting.pop(digest)
                self._begun[worker] = worker.submit(reward_worker.begin, early, may_time)

    def judge(self, answers: Sequence[PolicyAnswer]) -> list[Judged]:
        """Judge every answer and return the results in the same order.

        The result for a task that cannot be run carries the error as its ``fault``.

        Raises:
            DeviceError: the machine failed, or no process is left to judge.
        """
        self._waiting.clear()  # ``answers`` includes them
        numbers: dict[str, list[int]] = {}
        for number, answer in enumerate(answers):
            numbers.setdefault(answer.task.digest, []).append(number)
        by_task = {task: [answers[n] for n in those] for task, those in numbers.items()}
        judged = [Judged(None)] * len(answers)
        for task, (found, n_new) in self._judged(by_task):
            self.n_judged += n_new
            for number, each in zip(numbers[task], found, strict=True):
                judged[number] = each
        self._residents.share()
        return judged

    def _judged(
        self, by_task: Mapping[str, Sequence[PolicyAnswer]]
    ) -> Iterator[tuple[str, tuple[list[Judged], int]]]:
        """Yield each task with the results of its answers, and how many of these were new.

        Raises:
            DeviceError: as for ``judge``.
        """
        n_losses: Counter[str] = Counter()
        sent = self._sent(by_task, list(by_task))
        for worker in list(self._begun):
            self._end(worker)
        while sent:
            ended, _ = wait(sent, return_when=FIRST_COMPLETED)
            for session in ended:
                worker, tasks = sent.pop(session)
                try:
                    found = session.result()
                except BrokenExecutor as error:
                    n_losses.update(tasks)
                    _require_few(n_losses, error)
                    self._replace(worker, error)
                    sent |= self._sent(by_task, tasks)
                else:
                    yield from zip(tasks, found, strict=True)

    def _sent(
        self, by_task: Mapping[str, Sequence[PolicyAnswer]], tasks: Sequence[str]
    ) -> dict[Future[Any], tuple[Resident, list[str]]]:
        """Send tasks to their processes; by the result of each its process, with its tasks."""
        by_worker: dict[Resident, list[str]] = {}
        for task in tasks:
            by_worker.setdefault(self._residents.wait_for(task), []).append(task)
        return {
            worker.submit(reward_worker.judge, [by_task[task] for task in those]): (worker, those)
            for worker, those in by_worker.items()
        }

    def _end(self, worker: Resident) -> None:
        """Wait for what a process began early.

        Raises:
            DeviceError: the machine failed.
        """
        try:
            self._begun.pop(worker).result()
        except BrokenExecutor as error:
            self._replace(worker, error)  # ``judge`` gets the same answers

    def _replace(self, worker: Resident, error: BrokenExecutor) -> None:
        _LOG.warning("a process that judges was lost; another one judges its tasks: %s", error)
        self._residents.replace(worker)


def _require_few(n_losses: Mapping[str, int], error: BrokenExecutor) -> None:
    """Refuse to go on if the process of one task was lost again and again.

    Raises:
        DeviceError: it was.
    """
    if max(n_losses.values()) > MOST_LOSSES:
        raise DeviceError(
            "a process that judges was killed",
            seen=f"{max(n_losses.values())} times with the same task; {error}",
            do="free memory, give fewer --jobs, or see `ray status`; the same command goes on",
        ) from error
