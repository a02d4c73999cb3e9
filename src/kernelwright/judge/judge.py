"""The judge: one candidate in, one verdict out; of many, the next are built ahead."""

from __future__ import annotations

import contextlib
import functools
import math
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any

import torch

from kernelwright.core.candidate import Candidate
from kernelwright.core.device import Device
from kernelwright.core.errors import DeviceError
from kernelwright.core.evaluation import Environment, Evaluation
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task, Workload
from kernelwright.judge.baselines.library_settings import settings_of
from kernelwright.judge.baselines.runs import N_QUICK, BaselineRuns, is_crowded
from kernelwright.judge.devices import environment
from kernelwright.judge.machine import Machine
from kernelwright.judge.pipeline import CALL_LIMIT_S, MOST_STARTING, Pipeline
from kernelwright.judge.reference.oracle import Oracle
from kernelwright.judge.reference.setup_store import SetupStore
from kernelwright.judge.refusal import memory_apart
from kernelwright.judge.sandbox import isolation
from kernelwright.judge.sandbox.fork_server import SharedForkServer
from kernelwright.judge.sandbox.isolation import MEMORY_SHARE
from kernelwright.judge.scheduling.build_queue import BuildQueue
from kernelwright.judge.scheduling.device_lock import DeviceLock
from kernelwright.judge.scheduling.memory import (
    lacked_memory,
    largest_bytes,
    slots_needed,
    wait_for_memory,
    with_enough_memory,
)
from kernelwright.judge.submission import ReadyBuilds, Submission, SubmissionBuilder
from kernelwright.judge.timed_inputs import KEPT_SHARE, TimedInputs
from kernelwright.judge.timing.cores import use_threads
from kernelwright.judge.timing.stopwatch import RunnerFailed, Stopwatch

TIME_BUDGET_S, TIME_SHARE = 0.75, 0.05
"""The time for a candidate's rounds, and the share of a search's budget that they may take; with a
build of one second it keeps a verdict near two seconds."""
MOST_AGAIN = 2
"""The number of times that a candidate is judged by itself after the first time."""
MUST_BEAT = 0.97
"""The fastest of a later batch is judged only if it takes less than this share of the best time
until then: times of few rounds are off by some percent."""
STRONGEST = "strongest"
"""The name of the strongest setting among a batch's numbers."""
FEWEST_FITTING, ROOM_SHARE = 2, 0.02
"""Candidates that fit into memory together: this many always, and one more for each time that the
task's tensors fit into this share of the device's memory. On an H200 three of 1.6 GB and two of
3 GB fitted."""


class Judge:
    """Judges candidates for one task on one device; a context manager that owns processes.

    Raises:
        TaskError: the reference does not run, or no two runs of it agree.
        UsageError: candidates cannot be judged on this kind of device.
        DeviceError: no child process can be made, or this is no Linux.
    """

    def __init__(
        self,
        task: Task,
        *,
        device: Device | None = None,
        settings: Settings | None = None,
        fork_server: SharedForkServer | None = None,
        machine: Machine | None = None,
        for_library: bool = False,
    ) -> None:
        """``machine``: the access to ``device``, made from the other arguments if it is None.
        ``for_library``: only library settings are timed, for which less memory will do."""
        isolation.require_linux()
        self.device = device or Device.parse("cpu")
        self.settings = settings or Settings()
        self.task = self.settings.applied_to(task)
        self.machine = machine or Machine.of(
            self.device, threads=self.settings.threads, fork_server=fork_server
        )
        self._for_library = for_library
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Judge:
        machine, backend = self.machine, self.machine.backend
        try:
            self._stack.callback(use_threads, torch.get_num_threads())
            use_threads(machine.threads)
            machine.factory.start()
            if backend.most_judges is not None:
                wanted, n_slots = slots_needed(self.task, backend, for_library=self._for_library)
                slots = machine.device_lock.memory_slots(wanted, n_slots=n_slots)
                self._stack.enter_context(slots)
            with_enough_memory(self._open_oracle, backend, self.task)
            room_bytes = KEPT_SHARE * backend.memory_bytes()
            if is_crowded(self.oracle, backend):
                room_bytes = 0
            self.stopwatch = Stopwatch(
                backend,
                cache=self.settings.cache,
                limit_s=CALL_LIMIT_S,
                inputs=TimedInputs(self.oracle, room_bytes),
            )
            self._baselines = BaselineRuns(
                self.task,
                self.oracle,
                machine,
                self.stopwatch,
                one_by_one=self._for_library,
                settings=settings_of(
                    backend.kind,
                    self.task.precision,
                    max_autotune=self.settings.max_autotune,
                    compiled=self.settings.compiled,
                ),
            )
            self._stack.callback(self._baselines.close)
            self._pipeline = Pipeline(
                self.oracle, self._baselines, machine, self.stopwatch, self.settings
            )
            self._stack.callback(self._pipeline.close)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # First, so that threads that wait for a baseline to compile wait no longer.
        self.machine.factory.close()
        self._stack.close()

    @property
    def threads(self) -> int:
        """The number of threads a call may use."""
        return self.machine.threads

    @property
    def device_lock(self) -> DeviceLock:
        return self.machine.device_lock

    @property
    def environment(self) -> Environment:
        """The machine and software that verdicts are made with."""
        return self._builder.environment

    @property
    def workload(self) -> Workload:
        """The task with its concrete shapes."""
        return self._builder.workload

    @property
    def strongest(self) -> str:
        """The fastest library setting on this task."""
        return self._baselines.strongest

    @property
    def baseline_ns(self) -> dict[str, float]:
        """Median nanoseconds of every library setting, measured once, before the first verdict."""
        return self._baselines.median_ns

    @property
    def dropped(self) -> dict[str, str]:
        """Library settings that do not run this task, with the reason."""
        return self._baselines.dropped

    def take_builds(self, ready: ReadyBuilds) -> None:
        """Take compiled kernels over for candidates that our own code has written and compiled, as
        the tuner's. Never ask ``ready`` about what a foreign candidate could have written to."""
        self._builder.ready_builds = ready

    def start_baselines(self) -> None:
        """Build and compile the library settings beside what follows, because something will be
        timed. Where memory is scarce they start later."""
        if not self._baselines.is_crowded:
            self._baselines.start()

    @property
    def is_crowded(self) -> bool:
        """True if the device has no room for a search's processes beside the library settings."""
        return self._baselines.is_crowded

    def nothing_to_win(self) -> dict[str, Any]:
        """Why no candidate can be much faster than the library, with its times; empty if one
        can."""
        return self._baselines.nothing_to_win()

    def copying(self) -> dict[str, float]:
        """The bytes that the task moves, the floating-point operations of its reference, and the
        rate at which the device copies; empty if that rate was not measured."""
        found = self._baselines.copying()
        return found | {"flops": self.oracle.profile.work.flops} if found else found

    def evaluate(
        self, candidate: Candidate, *, timed: bool = True, max_time_s: float = TIME_BUDGET_S
    ) -> Evaluation:
        """The verdict on one candidate; whatever it does, a status and never an exception.

        With ``timed`` false only its results are checked, and no baseline is started. Where the
        machine failed, or memory was lacking, it is judged once more.

        Units:
            ``max_time_s`` bounds the timed rounds, in seconds; fewer make a wider interval.
        Raises:
            DeviceError: the baselines cannot be run on this machine.
        """
        found = self._judge(candidate, timed=timed, max_time_s=max_time_s)
        if lacked_memory(found):
            found = self._judge_again(candidate, timed=timed, max_time_s=max_time_s)
        return found

    def evaluate_all(
        self,
        candidates: Iterable[Candidate],
        *,
        timed: bool = True,
        first_look: bool = False,
        is_sure: bool = True,
    ) -> Iterator[Evaluation]:
        """The verdict on each, in order; the next are built while one is examined.

        Unless it ``is_sure`` that something will be timed, no library setting starts before a
        candidate is right.

        With ``first_look`` losers are timed for less where the budget is small, and nobody finds
        out of what kind they are: winners are to be measured again.

        Builds stand still while anything is timed. Profilers start while the next candidates are
        examined, so that a verdict may come when these have been. A candidate that finds too little
        memory is judged once more, without the others. To stop early, close the iterator.

        Raises:
            DeviceError: as for ``evaluate``.
        """
        most = min(
            self.machine.backend.most_ahead, len(os.sched_getaffinity(0)), self._n_fitting - 1
        )
        length = 0 if self._baselines.is_crowded else most
        longest_s = min(TIME_BUDGET_S, TIME_SHARE * self.settings.budget_s)
        max_time_s = longest_s if first_look else TIME_BUDGET_S
        most_starting = min(MOST_STARTING, self._n_fitting - 1)
        submit = functools.partial(self._submit, timed=timed, is_sure=is_sure)
        timed_ones: deque[Submission] = deque()
        with self._queue(candidates, submit, length=length, n_together=length + 1) as queue:
            try:
                for submission in queue:
                    self._pipeline.examine(submission, max_time_s, is_first=first_look)
                    if submission.found and lacked_memory(submission.found):
                        yield from self._pipeline.finished(timed_ones)
                        queue.restart()
                        again = self._judge_again(submission.candidate, timed=timed)
                        submission.found = again
                    timed_ones.append(submission)
                    yield from self._pipeline.finished(timed_ones, n_starting=most_starting)
                yield from self._pipeline.finished(timed_ones)
            finally:
                for submission in timed_ones:
                    submission.close()

    def evaluate_fastest(
        self, candidates: Iterable[Candidate], *, max_time_s: float
    ) -> Iterator[list[Evaluation | None]]:
        """For every ``batch_size`` candidates the verdict on the fastest that is right, and on
        those that do not run; None for each of the others, in order.

        Judges of one device wait for each other to measure. A batch measures several candidates
        within one such wait. Its times only choose: the verdict's own are measured afterwards, so
        that it is not the best of several. Nobody finds out of what kind a loser is.

        Units, Raises:
            As for ``evaluate_all``.
        """
        best, size = math.inf, self.batch_size
        with self._queue(candidates, self._submit, length=size, n_together=size) as queue:
            for batch in queue.batches():
                found: dict[int, Evaluation] = {}
                try:
                    shares = self._rank(batch)
                    for index in set(range(len(batch))) - set(shares):
                        found[index] = self._conclude(batch[index], max_time_s, is_first=True)
                    for index in sorted(shares, key=shares.__getitem__):
                        if shares[index] > MUST_BEAT * best:
                            break
                        verdict = self._conclude(batch[index], max_time_s, is_first=True)
                        found[index] = verdict
                        if verdict.passed:
                            speedup = verdict.speedup  # measured anew, so that luck decides nothing
                            best = min(best, 1 / speedup.median if speedup else shares[index])
                            break
                finally:
                    for submission in batch:
                        submission.close()
                for index, verdict in found.items():
                    if lacked_memory(verdict):
                        candidate = batch[index].candidate
                        found[index] = self._judge_again(candidate, max_time_s=max_time_s)
                yield [found.get(index) for index in range(len(batch))]

    def _rank(self, batch: Sequence[Submission]) -> dict[int, float]:
        """The time of each candidate that runs, as a share of the strongest setting's, by its index
        in the batch. A candidate that cannot be measured keeps its error. Empty if the machine
        fails: then each is judged by itself."""
        indices = {str(n): n for n, submission in enumerate(batch) if submission.error is None}
        with contextlib.suppress(DeviceError, RunnerFailed, MemoryError):
            self._baselines.measure()
            with self.device_lock.exclusive(), memory_apart(), self.oracle.computing():
                while indices:
                    runners = {name: batch[index].built for name, index in indices.items()}
                    runners[STRONGEST] = self._baselines.fastest()
                    try:
                        times = self.stopwatch.rank(runners, N_QUICK)
                    except RunnerFailed as failed:
                        if failed.name == STRONGEST:
                            raise
                        batch[indices.pop(failed.name)].error = failed.refused
                    else:
                        return {n: times[name] / times[STRONGEST] for name, n in indices.items()}
        return {}

    @property
    def judged_task(self) -> Task:
        """The task as it is judged: in eval mode if it is random in training mode only."""
        return self.oracle.forward.task

    @functools.cached_property
    def batch_size(self) -> int:
        """The number of candidates that a search builds together; fewer of large tasks, for want of
        memory."""
        most = self.machine.backend.batch_size
        if most == 1 or self._baselines.is_crowded:
            return 1
        return min(most, self._n_fitting)

    @functools.cached_property
    def _n_fitting(self) -> int:
        """The number of candidates that fit into memory at a time beside the library settings."""
        most = ROOM_SHARE * self.machine.backend.memory_bytes() / largest_bytes(self.task)
        return FEWEST_FITTING + int(most)

    def _open_oracle(self) -> None:
        backend, lock = self.machine.backend, self.machine.device_lock
        backend.settle()  # which starts the device: nobody waits for that
        facts = environment.Here.of(self.device, self.settings, self.machine.threads).told
        store = SetupStore.of(self.task, facts)
        self.oracle = Oracle(self.task, backend.name, store.secret, lock.shared, store)
        found = environment.describe(self.device, backend, self.machine.threads, self.settings)
        if self.task.precision:
            found = replace(found, facts={**found.facts, "precision": self.task.precision})
        with lock.shared():
            self._builder = SubmissionBuilder(
                self.task, self.device, self.oracle, self.machine, found
            )

    def _queue(
        self,
        candidates: Iterable[Candidate],
        submit: Callable[[Candidate], Submission],
        *,
        length: int,
        n_together: int,
    ) -> contextlib.closing[BuildQueue]:
        """The queue of these candidates' builds, of which ``n_together`` share the memory."""
        build = functools.partial(self._builder.build, memory_share=MEMORY_SHARE / n_together)
        return contextlib.closing(BuildQueue(candidates, submit, build, length=length))

    def _submit(
        self, candidate: Candidate, *, timed: bool = True, is_sure: bool = True
    ) -> Submission:
        submission = self._builder.submit(candidate, timed=timed)
        if submission.is_timed and is_sure:
            self.start_baselines()
        return submission

    def _judge(self, candidate: Candidate, *, timed: bool, max_time_s: float) -> Evaluation:
        submission = self._submit(candidate, timed=timed)
        self._builder.build(submission)
        return self._conclude(submission, max_time_s)

    def _judge_again(
        self, candidate: Candidate, *, timed: bool = True, max_time_s: float = TIME_BUDGET_S
    ) -> Evaluation:
        """Judge alone; judge a last time if it only shows now that library settings had lacked
        memory too."""
        with self.device_lock.retrying():
            for _ in range(MOST_AGAIN):
                wait_for_memory(self.machine.backend, self.task)
                found = self._judge(candidate, timed=timed, max_time_s=max_time_s)
                if not self._baselines.may_run_after_all:
                    break
        return found

    def _conclude(
        self, submission: Submission, max_time_s: float, *, is_first: bool = False
    ) -> Evaluation:
        """Examine a built submission, and end it."""
        self._pipeline.examine(submission, max_time_s, is_first=is_first)
        return self._pipeline.finish(submission)
