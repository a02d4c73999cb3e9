"""The judge: one candidate in, one verdict out; of many, the next are built ahead."""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from types import TracebackType
from typing import Any

import torch

from kernelwright.core import plugins
from kernelwright.core.candidate import Candidate
from kernelwright.core.device import Device
from kernelwright.core.errors import DeviceError
from kernelwright.core.evaluation import CANDIDATE, Evaluation, Status, Timing
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.judge import environment, kinds, preparation, profiling
from kernelwright.judge.baseline_runs import BaselineRuns, no_memory
from kernelwright.judge.check import Check
from kernelwright.judge.child import MEMORY_SHARE
from kernelwright.judge.children import Children
from kernelwright.judge.conditions import Watch, complaints
from kernelwright.judge.draft import Draft, Subject
from kernelwright.judge.draws import RANDOMISED, TASK, Draw, derive_seed
from kernelwright.judge.inputs import DISTRIBUTIONS, OVERFLOWING, RESAMPLED, SPECIAL
from kernelwright.judge.layout import plan_slots
from kernelwright.judge.nursery import Nursery
from kernelwright.judge.oracle import Oracle
from kernelwright.judge.place import place_of
from kernelwright.judge.preparation import Line, Preparation
from kernelwright.judge.reading import Reading
from kernelwright.judge.refusal import Refused
from kernelwright.judge.roofline import DOES_LESS, Arithmetic
from kernelwright.judge.room import n_chairs
from kernelwright.judge.runner import Runner, contents
from kernelwright.judge.sampling import Looks
from kernelwright.judge.screen import screen
from kernelwright.judge.timing import Stopwatch
from kernelwright.judge.turns import Turns

CALL_LIMIT_S = 10.0
SLOWEST = 50.0
"""A call may take this many times the reference's time, and CALL_LIMIT_S at least."""
ORACLE_BUDGET_S = 10.0
"""Of the reference's own runs, once per task; then the remaining distributions are left out."""
FEWEST_DRAWS = 6
TIME_BUDGET_S, TIME_SHARE = 0.75, 0.05
"""Of rounds per candidate, and of a search's budget at most; with a build of one second it keeps a
verdict near two seconds."""
OUT_OF_MEMORY = "out of memory"


class Judge:
    """Judges candidates for one task on one device; a context manager that owns processes.

    Raises:
        TaskError: the reference does not run, or no two runs of it agree.
        DeviceError: no child process can be made.
    """

    def __init__(
        self, task: Task, *, device: Device | None = None, settings: Settings | None = None,
        nursery: Nursery | None = None, for_library: bool = False,
    ) -> None:  # fmt: skip
        self.device = device or Device.parse("cpu")
        self.settings = settings or Settings()
        self.task = task.in_precision(self.settings.precision)
        self.threads = environment.resolve_threads(self.settings.threads)
        self.place = place_of(self.device)
        self.turns = Turns(self.place.name, self.place.is_idle)
        self._chairs = contextlib.ExitStack()
        self._for_library = for_library  # and no candidate comes: less memory will do
        self.children = Children(self.device, self.place, threads=self.threads, nursery=nursery)
        self._baselines: BaselineRuns | None = None
        self._secret = secrets.randbits(63)

    def __enter__(self) -> Judge:
        try:
            environment.use_threads(self.threads)
            self.children.zygote({})
            if self.place.most_judges is not None:
                wanted, in_all = n_chairs(self.task, self.place, for_library=self._for_library)
                self._chairs.enter_context(self.turns.chairs(wanted, n_chairs=in_all))
                self.place.settle()  # which starts the device: nobody waits for that
            self._study()
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
        except BaseException as error:
            self.__exit__(None, None, None)
            if isinstance(error, (MemoryError, torch.OutOfMemoryError)):
                raise no_memory(self.task, error) from error
            raise
        return self

    def _study(self) -> None:
        """Run the reference, and note what all verdicts need."""
        self.oracle = Oracle(self.task, self.device.torch_name, self._secret, self.turns.beside)
        names = [RANDOMISED] if self.oracle.has_weights else []
        names += [RESAMPLED] if self.oracle.has_integers else []
        self._draws = [
            Draw(name, derive_seed(self._secret, name, 0))
            for name in (*names, *DISTRIBUTIONS, OVERFLOWING, SPECIAL)
        ]
        with self.turns.beside():
            self.workload = self.oracle.workload()
            self._others_bytes = self._room_bytes()
        told, is_reduced = (self.oracle.flops, self.oracle.example), bool(self.task.precision)
        self._arithmetic = Arithmetic(self.place, *told, is_reduced=is_reduced)
        self._reading = Reading(self.oracle, self.place)
        self.stopwatch = Stopwatch(self.place, cache=self.settings.cache, limit_s=CALL_LIMIT_S)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # First, so that threads that wait for a baseline to compile wait no longer.
        self.children.close()
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

        With ``timed`` false only its results are checked, and no baseline is started.

        Units:
            ``max_time_s`` bounds the timed rounds, in seconds; fewer make a wider interval.
        Raises:
            DeviceError: the baselines cannot be run on this machine.
        """
        prepared = self._admit(candidate, timed=timed)
        self._prepare(prepared)
        return self._conclude(prepared, max_time_s)

    def evaluate_all(
        self, candidates: Iterable[Candidate], *, timed: bool = True, first_look: bool = False
    ) -> Iterator[Evaluation]:
        """The verdict on each, in order; the next are built while one is examined.

        With ``first_look`` losers are timed for less where the budget is small, and nobody finds
        out of what kind they are: what wins is to be measured again.

        What is built ahead stands still while anything is timed. Where one of several finds too
        little memory it is judged again without the others. To stop early, close the iterator.

        Raises:
            DeviceError: as for ``evaluate``.
        """
        most = min(self.place.most_ahead, len(os.sched_getaffinity(0)))
        length = 0 if self._baselines.is_crowded else most
        share = MEMORY_SHARE / (length + 1)
        longest_s = min(TIME_BUDGET_S, TIME_SHARE * self.settings.budget_s)
        how = {"max_time_s": longest_s if first_look else TIME_BUDGET_S, "is_first": first_look}
        line = Line(
            candidates,
            lambda candidate: self._admit(candidate, timed=timed),
            lambda prepared: self._prepare(prepared, memory_share=share),
            length=length,
        )
        with contextlib.closing(line):
            for prepared in line:
                evaluation = self._conclude(prepared, **how)
                if not line.is_alone and lacked_memory(evaluation):
                    line.restart()
                    evaluation = self.evaluate(prepared.candidate, timed=timed)
                yield evaluation

    def _admit(self, candidate: Candidate, *, timed: bool) -> Preparation:
        """What is known of a candidate before a process is spent on it."""
        subject = Subject(
            self.task.digest, self.workload.digest, candidate.digest, self.environment
        )
        verdict = Draft(subject, list(self.oracle.warnings), secrets.randbits(63))
        if self.task.precision:
            asked = f"{self.task.precision} was asked for: "
            verdict.warnings.append(f"{asked}the candidate may round to it, and the library does")
        admitted = Preparation(candidate, verdict)
        reason = screen(candidate)
        if reason is not None:
            admitted.error = Refused(Status.BUILD_ERROR, reason)
            return admitted
        dialect = plugins.find("kernelwright.dialects", candidate.dialect)
        lacking = dialect.missing(self.device)
        if lacking is not None:
            admitted.error = Refused(Status.INFRA_ERROR, lacking)
            return admitted
        admitted.environment = dialect.environment(self.device)
        admitted.is_timed = timed and dialect.is_timed(self.device)
        if not admitted.is_timed:
            why = f"{candidate.dialect} on {self.device.kind} runs in an interpreter"
            verdict.warnings.append(f"not timed: {why if timed else 'as asked'}")
        elif not self._baselines.is_crowded:
            self._baselines.start()
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
            with runner.beside(self.turns) as seat:
                start_s = time.monotonic()
                try:
                    source, entry = admitted.candidate.source, admitted.candidate.entry
                    preparation.build(runner, self.oracle, source, entry, {})
                    preparation.call_once(runner, self.oracle)
                finally:
                    spent_s = time.monotonic() - start_s - seat.waited_s
                    admitted.verdict.build_s = spent_s
        except (Refused, DeviceError, MemoryError, torch.OutOfMemoryError) as error:
            admitted.error = error

    def _conclude(
        self, prepared: Preparation, max_time_s: float, *, is_first: bool = False
    ) -> Evaluation:
        """Examine what was prepared, and end it."""
        verdict = prepared.verdict
        try:
            if prepared.error is not None:
                raise prepared.error
            self._examine(prepared, prepared.runner, max_time_s, is_first=is_first)
        except Refused as refused:
            return verdict.conclude(refused.status, refused.reason)
        except (DeviceError, MemoryError, torch.OutOfMemoryError) as error:
            return verdict.conclude(Status.INFRA_ERROR, str(error) or type(error).__name__)
        finally:
            prepared.close()
        return verdict.conclude(Status.PASSED)

    def _examine(
        self, prepared: Preparation, runner: Runner, max_time_s: float, *, is_first: bool
    ) -> None:
        """Check a built candidate's results, and time it."""
        verdict = prepared.verdict
        self.stopwatch.prioritise(runner)
        check = Check(self.oracle, runner, derive_seed(verdict.seed, "verify"))
        start_s = time.monotonic()
        try:
            self._check(check)
        finally:
            verdict.check_s = time.monotonic() - start_s
            verdict.warnings += check.tally.warnings
            verdict.numerics = check.tally.numerics()
        if prepared.is_timed:
            looks = Looks(derive_seed(verdict.seed, "looks")) if runner.is_read else None
            verdict.timing = self._time(verdict, check, looks, max_time_s)
            verdict.numerics = check.tally.numerics()
            timed_ns = verdict.timing.median_ns(CANDIDATE)
            is_win = verdict.timing.speedups[verdict.timing.strongest].is_win
            if is_first and not is_win:
                return
            if not runner.is_read:  # a device's profiler takes a second to start: not alone
                with runner.beside(self.turns), contextlib.suppress(Refused):
                    runner.profile(self.oracle.first_arguments)
            with self.turns.alone():
                if is_win:
                    overhead_ns = self.stopwatch.overhead_ns
                    self._reading.refuse_impossible(timed_ns, overhead_ns=overhead_ns)
                does_less = is_win and self._arithmetic.exceeds(timed_ns)
                verdict.warnings += [DOES_LESS] if does_less else []
                verdict.kinds = kinds.of(
                    runner,
                    self.oracle,
                    looks,
                    source=prepared.candidate.source,
                    timed_ns=timed_ns,
                    does_less=does_less,
                )
                if self.settings.models:  # who reads it
                    verdict.profile = profiling.of(runner, self.oracle, self.settings.contexts)

    def _check(self, check: Check) -> None:
        """Calls on every distribution, and with other weights; first the task's own inputs."""
        self.stopwatch.limit_s = self._call_limit_s()
        repeated: dict[Draw, list[torch.Tensor]] = {}
        n_repeated = 1 if self._baselines.is_crowded else 2
        for number, draw in enumerate((self.oracle.first, *self._draws)):
            if self.oracle.spent_s > ORACLE_BUDGET_S and number > FEWEST_DRAWS:
                del self._draws[number - 1 :]  # for later candidates too: all are checked alike
                break
            with check.runner.beside(self.turns):
                outputs = check.run(draw, self.stopwatch.turn)
                if draw == self.oracle.first:
                    self._visit_others(check)
            is_plain = draw.distribution in (TASK, *DISTRIBUTIONS)
            if outputs and is_plain and len(repeated) < n_repeated:
                repeated[draw] = outputs
        with check.runner.beside(self.turns):
            check.repeat(repeated, limit_s=self.stopwatch.limit_s)
            check.finish()

    def _visit_others(self, check: Check) -> None:
        """Calls on the other inputs that the task declares, and back."""
        for other in self.oracle.others.values():
            check.visit(other, self.stopwatch.turn)
        if self.oracle.others:
            check.come_home(self.stopwatch.turn)

    def _room_bytes(self) -> int:
        """Of memory that any of the task's sets of inputs needs, with its outputs."""
        oracle = self.oracle
        held = [
            contents(oracle.kept_arguments(other.draw), oracle.state(TASK), other.example)
            for other in oracle.others.values()
        ]
        return max((plan_slots(one)[1] for one in held), default=0)

    def _call_limit_s(self) -> float:
        slowest_ns = max(self.baseline_ns.values(), default=0.0)
        return max(CALL_LIMIT_S, SLOWEST * slowest_ns * 1e-9)

    def _time(self, verdict: Draft, check: Check, looks: Looks | None, max_time_s: float) -> Timing:
        self._baselines.measure()
        self.stopwatch.limit_s = self._call_limit_s()
        verdict.warnings += [
            f"library setting {name} was not measured: {reason[:200]}"
            for name, reason in self.dropped.items()
        ]
        kept = self._baselines.kept()
        with self.turns.alone():
            start_s, watch = time.monotonic(), Watch(self.place, self.children.pids())
            try:
                return self.stopwatch.compare(
                    check.runner,
                    kept,
                    strongest=self.strongest,
                    arguments_of=self.oracle.arguments,
                    check=check,
                    draws=self._draws,
                    seed=verdict.seed,
                    budget_s=max_time_s,
                    looks=looks,
                )
            finally:
                verdict.time_s = time.monotonic() - start_s
                verdict.conditions = watch.end()
                verdict.warnings += complaints(verdict.conditions)


def lacked_memory(evaluation: Evaluation) -> bool:
    """Whether a candidate may have failed for want of memory that others held."""
    said = " ".join(evaluation.reasons).lower()
    return evaluation.status is Status.INFRA_ERROR or OUT_OF_MEMORY in said
