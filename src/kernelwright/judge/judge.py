"""The judge: one candidate in, one verdict out; of many, the next are built ahead."""

from __future__ import annotations

import contextlib
import functools
import os
import secrets
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any

from kernelwright.core import plugins
from kernelwright.core.candidate import Candidate
from kernelwright.core.device import Device
from kernelwright.core.errors import DeviceError
from kernelwright.core.evaluation import Evaluation
from kernelwright.core.outcome import ReasonCode, Warned, WarningCode
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.dialects import usable
from kernelwright.judge import heats, preparation
from kernelwright.judge.baseline_runs import N_QUICK, BaselineRuns
from kernelwright.judge.children.children import Children
from kernelwright.judge.children.forking import MEMORY_SHARE
from kernelwright.judge.children.nursery import Nursery
from kernelwright.judge.children.runner import Runner
from kernelwright.judge.children.turns import Turns
from kernelwright.judge.draft import Draft, Subject
from kernelwright.judge.isolation import sandbox
from kernelwright.judge.machine import environment
from kernelwright.judge.machine.layout import plan_slots
from kernelwright.judge.machine.place import place_of
from kernelwright.judge.machine.region import contents
from kernelwright.judge.machine.room import (
    lacked_memory,
    largest_bytes,
    n_chairs,
    seen_beside,
    wait_for_room,
    with_room,
    within_its_part,
)
from kernelwright.judge.perturb.weight_sets import USUAL
from kernelwright.judge.pipeline import CALL_LIMIT_S, MOST_STARTING, Pipeline
from kernelwright.judge.preparation import Line, Preparation
from kernelwright.judge.reference.oracle import Oracle
from kernelwright.judge.refusal import Refused, memory_apart
from kernelwright.judge.screen import screen
from kernelwright.judge.timing.rounds import RunnerFailed, Stopwatch

TIME_BUDGET_S, TIME_SHARE = 0.75, 0.05
"""Of rounds per candidate, and of a search's budget at most; with a build of one second it keeps a
verdict near two seconds."""
MOST_AGAIN = 2
"""How often a candidate is judged by itself after the first time."""
FEWEST_FITTING, ROOM_SHARE = 2, 0.02
"""Candidates that find room together at least, and the share of the device's memory in which each
further one must find room for the task's tensors: three of 1.6 GB and two of 3 GB had it on an
H200."""


class Judge:
    """Judges candidates for one task on one device; a context manager that owns processes.

    Raises:
        TaskError: the reference does not run, or no two runs of it agree.
        DeviceError: no child process can be made, or this is no Linux.
    """

    def __init__(
        self, task: Task, *, device: Device | None = None, settings: Settings | None = None,
        nursery: Nursery | None = None, for_library: bool = False,
    ) -> None:  # fmt: skip
        sandbox.require_linux()
        self.device = device or Device.parse("cpu")
        self.settings = settings or Settings()
        self.task = task.in_precision(self.settings.precision)
        self.threads = environment.resolve_threads(self.settings.threads)
        self.place = place_of(self.device)
        self.turns = Turns(self.place.unit, self.place.is_idle, self.place.works_for)
        self._chairs = contextlib.ExitStack()
        self._for_library = for_library  # and no candidate comes: less memory will do
        self.children = Children(self.device, self.place, threads=self.threads, nursery=nursery)
        self._baselines: BaselineRuns | None = None
        self._pipeline: Pipeline | None = None
        self._secret = secrets.randbits(63)

    def __enter__(self) -> Judge:
        try:
            environment.use_threads(self.threads)
            self.children.zygote({})
            if self.place.most_judges is not None:
                wanted, in_all = n_chairs(self.task, self.place, for_library=self._for_library)
                self._chairs.enter_context(self.turns.chairs(wanted, n_chairs=in_all))
            with_room(self._open_oracle, self.place, self.task)
            self.stopwatch = Stopwatch(self.place, cache=self.settings.cache, limit_s=CALL_LIMIT_S)
            self.environment = environment.describe(
                self.device, self.place, self.threads, self.settings.cache
            )
            if self.task.precision:
                facts = {**self.environment.facts, "precision": self.task.precision}
                self.environment = replace(self.environment, facts=facts)
            self._baselines = BaselineRuns(
                self.task,
                self.place,
                children=self.children,
                oracle=self.oracle,
                stopwatch=self.stopwatch,
                turns=self.turns,
                one_by_one=self._for_library,
            )
            self._pipeline = Pipeline(
                self.oracle,
                self._baselines,
                place=self.place,
                children=self.children,
                stopwatch=self.stopwatch,
                turns=self.turns,
                settings=self.settings,
            )
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def _open_oracle(self) -> None:
        self.place.settle()  # which starts the device: nobody waits for that
        self.oracle = Oracle(self.task, self.device.torch_name, self._secret, self.turns.beside)
        with self.turns.beside():
            self.workload = self.oracle.workload()
            self._others_bytes = self._room_bytes()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # First, so that threads that wait for a baseline to compile wait no longer.
        self.children.close()
        if self._pipeline is not None:
            self._pipeline.close()
        if self._baselines is not None:
            self._baselines.close()
        self._chairs.close()

    @property
    def strongest(self) -> str:
        """The fastest library setting on this task."""
        return self._baselines.strongest

    @property
    def baseline_ns(self) -> dict[str, float]:
        """Median nanoseconds of every library setting, measured once, before the first verdict."""
        return self._baselines.median_ns

    def start_baselines(self) -> None:
        """Let the library settings build and compile beside what follows, where memory is not
        scarce, because something will be timed; nothing is timed by this."""
        if not self._baselines.is_crowded:
            self._baselines.start()

    def nothing_to_win(self) -> dict[str, Any]:
        """Why no candidate can be much faster than the library, with its times; or nothing."""
        return self._baselines.nothing_to_win()

    def copying(self) -> dict[str, float]:
        """What the task moves, and how fast the device copies."""
        return self._baselines.copying()

    @property
    def dropped(self) -> dict[str, str]:
        """Library settings that do not run this task, with the reason."""
        return self._baselines.dropped

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
        out of what kind they are: what wins is to be measured again.

        What is built ahead stands still while anything is timed. Profilers start while the next
        candidates are examined, so that a verdict may come when these have been. Whatever finds
        too little memory is judged once more, without the others. To stop early, close the
        iterator.

        Raises:
            DeviceError: as for ``evaluate``.
        """
        most = min(self.place.most_ahead, len(os.sched_getaffinity(0)), self._n_fitting - 1)
        length = 0 if self._baselines.is_crowded else most
        longest_s = min(TIME_BUDGET_S, TIME_SHARE * self.settings.budget_s)
        how = {"max_time_s": longest_s if first_look else TIME_BUDGET_S, "is_first": first_look}
        most_starting = min(MOST_STARTING, self._n_fitting - 1)
        timed_ones: deque[Preparation] = deque()
        told = {"timed": timed, "is_sure": is_sure}
        with self._line(candidates, length, n_together=length + 1, **told) as line:
            try:
                for prepared in line:
                    self._pipeline.examine(prepared, **how)
                    if prepared.found and lacked_memory(prepared.found):
                        yield from self._pipeline.finished(timed_ones)
                        line.restart()
                        prepared.found = self._judge_again(prepared.candidate, timed=timed)
                    timed_ones.append(prepared)
                    yield from self._pipeline.finished(timed_ones, n_starting=most_starting)
                yield from self._pipeline.finished(timed_ones)
            finally:
                for prepared in timed_ones:
                    prepared.close()

    def evaluate_fastest(
        self, candidates: Iterable[Candidate], *, max_time_s: float
    ) -> Iterator[list[Evaluation | None]]:
        """Of every ``heat`` candidates the verdict on the fastest that is right, and on those that
        do not run; None for each of the others, in order.

        A heat's times only choose: the verdict's own are measured afterwards, so that it is not
        the best of several. Nobody finds out of what kind a loser is.

        Units, Raises:
            As for ``evaluate_all``.
        """

        def timed(runners: Mapping[str, Runner]) -> dict[str, float]:
            return self.stopwatch.rank(runners, self.oracle.first_arguments, N_QUICK)

        def rank(heat: Sequence[Preparation]) -> dict[int, float]:
            try:
                self._baselines.wait()
                with self.turns.alone(), memory_apart():
                    return heats.rank(heat, self._baselines.fastest, timed)
            except (DeviceError, RunnerFailed, MemoryError):
                return {}  # nobody is passed over: each is judged, and alone if that is needed

        def judge(prepared: Preparation) -> Evaluation:
            return self._conclude(prepared, max_time_s, is_first=True)

        def again(candidate: Candidate) -> Evaluation:
            return self._judge_again(candidate, max_time_s=max_time_s)

        size = self.heat
        with self._line(candidates, size, n_together=size) as line:
            yield from heats.run(line.heats(), rank=rank, judge=judge, again=again)

    @functools.cached_property
    def heat(self) -> int:
        """How many candidates a search builds together; fewer of large tasks, for want of room."""
        if self.place.heat == 1 or self._baselines.is_crowded:
            return 1
        return min(self.place.heat, self._n_fitting)

    @functools.cached_property
    def _n_fitting(self) -> int:
        """How many candidates find room at a time beside the library settings; two at least."""
        most = ROOM_SHARE * self.place.memory_bytes() / largest_bytes(self.task)
        return FEWEST_FITTING + int(most)

    def _line(
        self, candidates: Iterable[Candidate], length: int, *, n_together: int, **how: bool
    ) -> contextlib.closing[Line]:
        """Candidates on their way, admitted like this, of which so many share the memory."""
        share = MEMORY_SHARE / n_together
        return contextlib.closing(
            Line(
                candidates,
                lambda candidate: self._admit(candidate, **how),
                lambda prepared: self._prepare(prepared, memory_share=share),
                length=length,
            )
        )

    def _admit(
        self, candidate: Candidate, *, timed: bool = True, is_sure: bool = True
    ) -> Preparation:
        """What is known of a candidate before a process is spent on it."""
        subject = Subject(
            self.task.digest, self.workload.digest, candidate.digest, self.environment
        )
        verdict = Draft(subject, list(self.oracle.profile.warnings), secrets.randbits(63))
        if self.task.precision:
            asked = f"{self.task.precision} was asked for: "
            told = f"{asked}the candidate may round to it, and the library does"
            verdict.warnings.append(Warned(WarningCode.REDUCED_PRECISION, told))
        admitted = Preparation(candidate, verdict)
        reason = screen(candidate)
        if reason is not None:
            admitted.error = Refused(reason.code, reason.detail)
            return admitted
        run_as = usable.run_as(candidate.dialect, self.device)
        dialect = plugins.find("kernelwright.dialects", run_as)
        lacking = dialect.missing(self.device)
        if lacking is not None:
            admitted.error = Refused(ReasonCode.NO_TOOLCHAIN, lacking)
            return admitted
        admitted.environment = dialect.environment(self.device)
        admitted.is_timed = timed and dialect.is_timed(self.device)
        if not admitted.is_timed:
            why = f"{candidate.dialect} on {self.device.kind} runs in an interpreter"
            told = f"not timed: {why if timed else 'as asked'}"
            verdict.warnings.append(Warned(WarningCode.NOT_TIMED, told))
        elif is_sure:
            self.start_baselines()
        return admitted

    def _prepare(self, admitted: Preparation, *, memory_share: float = MEMORY_SHARE) -> None:
        """Build the module in a child, and call it once: many compilers work at the first call.

        Nothing of it is believed, and no number of the judge's is drawn: it may run in a thread.
        """
        if admitted.error is not None:
            return
        try:
            runner = admitted.runner = self.children.spawn(
                admitted.environment, self.oracle.example, memory_share=memory_share
            )
            runner.room_bytes = self._others_bytes
            admitted.verdict.guarantees = runner.child.granted
            if admitted.is_abandoned:
                return
            with within_its_part(self.place, admitted.close), runner.beside(self.turns) as seat:
                start_s = time.monotonic()
                try:
                    source, entry = admitted.candidate.source, admitted.candidate.entry
                    preparation.build(runner, self.oracle, source, entry, {})
                    preparation.call_once(runner, self.oracle)
                finally:
                    spent_s = time.monotonic() - start_s - seat.waited_s
                    admitted.verdict.build_s = spent_s
        except Refused as refused:
            admitted.error = seen_beside(self.place, self.task, refused)
            admitted.close()  # or it would go on beside what is timed
        except Exception as error:  # of the machine, or the judge's own
            admitted.error = error

    def _judge(
        self, candidate: Candidate, *, timed: bool = True, max_time_s: float = TIME_BUDGET_S
    ) -> Evaluation:
        prepared = self._admit(candidate, timed=timed)
        self._prepare(prepared)
        return self._conclude(prepared, max_time_s)

    def _judge_again(self, candidate: Candidate, **how: Any) -> Evaluation:
        """Without the others; a last time where it only shows now that library settings lacked
        memory too, when the candidate did."""
        with self.turns.again():
            for _ in range(MOST_AGAIN):
                wait_for_room(self.place, self.task)
                found = self._judge(candidate, **how)
                if not self._baselines.to_start_again:
                    break
        return found

    def _conclude(
        self, prepared: Preparation, max_time_s: float, *, is_first: bool = False
    ) -> Evaluation:
        """Examine what was prepared, and end it."""
        self._pipeline.examine(prepared, max_time_s, is_first=is_first)
        return self._pipeline.finish(prepared)

    def _room_bytes(self) -> int:
        """Of memory that any of the task's sets of inputs needs, with its outputs."""
        oracle = self.oracle
        held = [
            contents(oracle.inputs.kept(draw), oracle.state(USUAL), draw.shapes.example)
            for draw in oracle.other_draws
        ]
        return max((plan_slots(one)[1] for one in held), default=0)
