"""Where answers go to be judged: processes beside the trainer's, each with tasks of its own."""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

from kernelwright.core.device import Device
from kernelwright.core.errors import DeviceError
from kernelwright.core.settings import Settings
from kernelwright.train import reward_worker
from kernelwright.train.reward import Judged
from kernelwright.train.reward_worker import PolicyAnswer


class RewardPool:
    """Judges answers, several tasks side by side, and archives proposals and verdicts.

    A text that was judged before is not judged again: to offer it until a measurement is lucky
    would pay. Only what is right is timed, so that a task whose answers are all wrong starts no
    baseline. It is timed even where only rightness pays, because that shows whose code did the
    work: a file with a kernel that nobody calls is right as well.

    A context manager that owns processes. They import the main module, as spawned ones do: a
    script that trains keeps what it does under ``if __name__ == "__main__"``.
    """

    def __init__(
        self, settings: Settings, device: Device, *, jobs: int = 1, timed: bool = True
    ) -> None:
        """``device`` as resolved: verdicts of other devices do not count. ``timed`` is false for
        an examination, where nothing is earned."""
        self.device = device
        self.n_judged = 0
        """Answers that had to be judged, because nobody had said the same before."""
        told = (settings, device, timed)
        self._workers = [
            ProcessPoolExecutor(
                1,
                mp_context=multiprocessing.get_context("spawn"),  # a fork would share the GPU
                initializer=reward_worker.start,
                initargs=told,
            )
            for _ in range(jobs)
        ]
        self._turn = itertools.cycle(self._workers)
        self._worker_of: dict[str, ProcessPoolExecutor] = {}
        self._waiting: dict[str, list[PolicyAnswer]] = {}
        """Answers that came before the others, by task, and with which nobody has begun."""
        self._begun: dict[ProcessPoolExecutor, Future[None]] = {}

    def __enter__(self) -> RewardPool:
        return self

    def __exit__(self, *_: object) -> None:
        for begun in self._begun.values():
            begun.cancel()  # where nobody asks what became of it any more
        for worker in set(self._worker_of.values()):
            with contextlib.suppress(BrokenProcessPool):  # nothing is left of it
                worker.submit(reward_worker.close)
        for worker in self._workers:
            worker.shutdown()

    def begin(self, answers: Sequence[PolicyAnswer] = (), *, may_time: bool = False) -> None:
        """Begin with answers that are there before the others; ``judge`` is to be given all.

        Each process that is free takes those of one task. To keep them busy, call this again and
        again, also when nothing has come. Without ``may_time`` nothing is timed before ``judge``,
        because somebody works on the device.

        Raises:
            As ``judge``, of what was begun before.
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
                    told = self._waiting.pop(digest)
                    self._begun[worker] = worker.submit(reward_worker.begin, told, may_time)

    def judge(self, answers: Sequence[PolicyAnswer]) -> list[Judged]:
        """What became of every answer, in their order; those to a task that cannot be run say so.

        Raises:
            DeviceError: the machine failed.
        """
        self._waiting.clear()  # they are among these
        by_worker: dict[ProcessPoolExecutor, dict[str, list[int]]] = {}
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

    def _worker(self, digest: str) -> ProcessPoolExecutor:
        """The process that judges a task: always the same, where its baselines are."""
        if digest not in self._worker_of:
            self._worker_of[digest] = next(self._turn)
        return self._worker_of[digest]


@contextlib.contextmanager
def _alive() -> Iterator[None]:
    """Say so where a process is gone.

    Raises:
        DeviceError: it is.
    """
    try:
        yield
    except BrokenProcessPool as error:
        raise DeviceError(
            "a process that judges was killed",
            seen=str(error),
            do="free memory, or give fewer --jobs; the same command goes on",
        ) from error
