"""The processes that judge a policy's answers beside the trainer, each with its own tasks."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future

from kernelwright.core.device import Device
from kernelwright.core.errors import DeviceError
from kernelwright.core.settings import Settings
from kernelwright.train import reward_worker
from kernelwright.train.fast_judge import Fast
from kernelwright.train.reward import Judged
from kernelwright.train.reward_worker import PolicyAnswer
from kernelwright.workers.residents import Resident
from kernelwright.workers.workers import Workers


class RewardPool:
    """Judges answers to several tasks side by side, and archives proposals and verdicts.

    A text that was judged before is not judged again, since a policy could otherwise repeat it
    until a measurement is lucky. Only correct candidates are timed, so that a task whose answers
    are all wrong starts no baseline. They are timed even if only correctness is rewarded, because
    timing shows whose code did the work: a file whose kernel is never called is correct too.

    The pool is a context manager that owns processes. Those on this machine are spawned, so they
    import the main module: a training script keeps its work under ``if __name__ == "__main__"``.
    If a node of a cluster is lost while one judges there, judging ends with a DeviceError; the same
    command resumes with the archive's verdicts.
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
        self._workers = [
            workers.resident(reward_worker.start, settings, device, timed, fast)
            for _ in range(workers.jobs)
        ]
        self._turn = itertools.cycle(self._workers)
        self._worker_of: dict[str, Resident] = {}
        self._waiting: dict[str, list[PolicyAnswer]] = {}
        """Answers by task digest that arrived early and that no worker has started on."""
        self._begun: dict[Resident, Future[None]] = {}

    def __enter__(self) -> RewardPool:
        return self

    def __exit__(self, *_: object) -> None:
        for begun in self._begun.values():
            begun.cancel()  # its result is no longer wanted
        for worker in set(self._worker_of.values()):
            with contextlib.suppress(BrokenExecutor):  # the process has died: nothing to close
                worker.submit(reward_worker.close)
        for worker in self._workers:
            worker.shutdown()

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
        with _alive():
            for digest in list(self._waiting):
                worker = self._worker(digest)
                begun = self._begun.get(worker)
                if begun is None or begun.done():
                    if begun is not None:
                        begun.result()
                    early = self._waiting.pop(digest)
                    self._begun[worker] = worker.submit(reward_worker.begin, early, may_time)

    def judge(self, answers: Sequence[PolicyAnswer]) -> list[Judged]:
        """Judge every answer and return the results in the same order.

        The result for a task that cannot be run carries the error as its ``fault``.

        Raises:
            DeviceError: the machine failed.
        """
        self._waiting.clear()  # ``answers`` includes them
        by_worker: dict[Resident, dict[str, list[int]]] = {}
        for number, answer in enumerate(answers):
            digest = answer.task.digest
            by_worker.setdefault(self._worker(digest), {}).setdefault(digest, []).append(number)
        judged = [Judged(None)] * len(answers)
        with _alive():
            sessions = [
                worker.submit(
                    reward_worker.judge, [[answers[n] for n in each] for each in tasks.values()]
                )
                for worker, tasks in by_worker.items()
            ]
            for begun in self._begun.values():
                begun.result()
            for tasks, session in zip(by_worker.values(), sessions, strict=True):
                for numbers, (found, n_new) in zip(tasks.values(), session.result(), strict=True):
                    self.n_judged += n_new
                    for number, each in zip(numbers, found, strict=True):
                        judged[number] = each
        return judged

    def _worker(self, digest: str) -> Resident:
        """Return the process that judges a task: always the same one, which has its baselines."""
        if digest not in self._worker_of:
            self._worker_of[digest] = next(self._turn)
        return self._worker_of[digest]


@contextlib.contextmanager
def _alive() -> Iterator[None]:
    """Report the death of a worker process as a DeviceError.

    Raises:
        DeviceError: a worker process was killed.
    """
    try:
        yield
    except BrokenExecutor as error:
        raise DeviceError(
            "a process that judges was killed",
            seen=str(error),
            do="free memory, give fewer --jobs, or see `ray status`; the same command goes on",
        ) from error
