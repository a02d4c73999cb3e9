"""The way of one built candidate through the judge.

Its results are checked on every check of the registry; then rounds are timed, and what was timed is
checked again; then a classifier says kernel, library or algebra. The first failure is the verdict.
"""

from __future__ import annotations

import contextlib
import sys
import time
import traceback
from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

from kernelwright.core.errors import DeviceError, KernelwrightError
from kernelwright.core.evaluation import CANDIDATE, Evaluation, Timing
from kernelwright.core.outcome import Reason, ReasonCode, Warned, WarningCode
from kernelwright.core.settings import Settings
from kernelwright.dialects.compile_shader import EMULATED
from kernelwright.judge.baselines.runs import BaselineRuns
from kernelwright.judge.devices.roofline import DOES_LESS, Arithmetic
from kernelwright.judge.kinds import kinds, profiling
from kernelwright.judge.kinds.sampling import StackSampler
from kernelwright.judge.machine import Machine
from kernelwright.judge.perturb.seeds import derive_seed
from kernelwright.judge.reference.oracle import Oracle
from kernelwright.judge.refusal import Refused, memory_apart
from kernelwright.judge.round_checks import FreshInputs, RoundChecks, sample_more
from kernelwright.judge.sandbox.runner import Runner
from kernelwright.judge.scheduling.memory import blamed_on_memory, held_bytes, too_much
from kernelwright.judge.speed_limits import SpeedLimits
from kernelwright.judge.submission import EvaluationBuilder, KindEvidence, Submission
from kernelwright.judge.timing.background_work import Disturbed
from kernelwright.judge.timing.conditions import ConditionsWatch, complaints
from kernelwright.judge.timing.rounds import Contest, compare
from kernelwright.judge.timing.stopwatch import RunnerFailed, Stopwatch
from kernelwright.judge.verify.run_checks import CheckPlan
from kernelwright.judge.verify.verification import Verification

CALL_LIMIT_S = 10.0
SLOWEST = 50.0
"""A call may take this many times the reference's time, and CALL_LIMIT_S at least."""
MOST_DISTURBED, DISTURBED_S = 2, 1.0
"""How often a candidate is timed again because somebody else used the device, and how much later
(seconds)."""
MOST_STARTING = 2
"""Profilers that start side by side: two seconds each on an H200, where the next candidate is
checked and timed in one."""


class Pipeline:
    """Examines the candidates of one task, one after the other, all with the same checks.

    Whatever a candidate does ends in a verdict on it. Every method raises ``KernelwrightError``
    where it is the task that fails.
    """

    def __init__(
        self,
        oracle: Oracle,
        baselines: BaselineRuns,
        machine: Machine,
        stopwatch: Stopwatch,
        settings: Settings,
    ) -> None:
        self._oracle, self._baselines, self._machine = oracle, baselines, machine
        self._stopwatch, self._settings = stopwatch, settings
        self._plan = CheckPlan(oracle)
        work, is_reduced = oracle.profile.work, bool(oracle.profile.precision)
        self._arithmetic = Arithmetic(
            machine.backend, work.flops, oracle.example, is_reduced=is_reduced
        )
        self._limits = SpeedLimits(oracle, machine.backend)
        self._profilers = ThreadPoolExecutor(MOST_STARTING, "profiler")
        self._shown: set[str] = set()

    def close(self) -> None:
        """End the threads in which profilers start."""
        self._profilers.shutdown()

    def examine(self, prepared: Submission, max_time_s: float, *, is_first: bool = False) -> None:
        """Check and time a prepared candidate; a failure is its verdict.

        ``is_first``: a winner is to be measured again. So a loser is not classified, and a winner
        on a CPU is looked at after the rounds, not among them.
        """
        with self._attempt(prepared):
            if prepared.error is not None:
                raise prepared.error
            self._check_and_time(prepared, max_time_s, is_first=is_first)

    def finish(self, prepared: Submission) -> Evaluation:
        """Classify an examined candidate, and end it."""
        if prepared.found is None:
            with self._attempt(prepared):
                self._classify(prepared)
        if prepared.found is None:
            prepared.found = prepared.verdict.conclude()
        prepared.close()
        return prepared.found

    def finished(self, waiting: deque[Submission], n_starting: int = 0) -> Iterator[Evaluation]:
        """The verdicts on examined candidates, in their order.

        Up to ``n_starting`` of those whose profilers still start are left waiting, and what came
        after them.
        """
        while waiting:
            n_left = sum(prepared.is_starting for prepared in waiting)
            if waiting[0].is_starting and n_left <= n_starting:
                return
            yield self.finish(waiting.popleft())

    @contextlib.contextmanager
    def _attempt(self, prepared: Submission) -> Iterator[None]:
        """A part of an examination; a failure in it is the verdict, and ends the candidate."""
        verdict = prepared.verdict
        try:
            with memory_apart():
                yield
            return
        except Refused as refused:
            refused = blamed_on_memory(self._machine.backend, self._oracle.task, refused)
            prepared.found = verdict.conclude(refused.reason)
        except (DeviceError, MemoryError) as error:
            if held := held_bytes(self._machine.backend, prepared.close):
                prepared.found = verdict.conclude(too_much(held).reason)
            else:
                self._baselines.excuse()
                is_memory = isinstance(error, MemoryError)
                code = ReasonCode.JUDGE_OUT_OF_MEMORY if is_memory else ReasonCode.DEVICE_FAILED
                why = str(error) or type(error).__name__
                prepared.found = verdict.conclude(Reason(code, why))
        except KernelwrightError:  # about the task
            prepared.close()
            raise
        except Exception as error:  # a fault of the judge's own costs one candidate, not the run
            self._show(error)
            why = f"the judge failed on it: {type(error).__name__}: {error}"
            prepared.found = verdict.conclude(Reason(ReasonCode.JUDGE_FAILED, why))
        except BaseException:
            prepared.close()
            raise
        prepared.close()

    def _show(self, error: Exception) -> None:
        """Print the traceback, once for each place that fails: the verdict has no room for it, and
        looks like that of a bad machine."""
        where = "".join(traceback.format_tb(error.__traceback__))
        if where not in self._shown:
            self._shown.add(where)
            sys.stderr.write("the judge failed on a candidate; please report this:\n")
            traceback.print_exception(error)

    def _check_and_time(self, prepared: Submission, max_time_s: float, *, is_first: bool) -> None:
        verdict, runner = prepared.verdict, prepared.runner
        self._stopwatch.prioritise(runner)
        verification = Verification(self._oracle, runner, derive_seed(verdict.seed, "verify"))
        start_s = time.monotonic()
        try:
            self._stopwatch.limit_s = self._call_limit_s()
            self._plan.run(
                verification,
                self._stopwatch,
                self._machine.device_lock,
                is_crowded=self._baselines.is_crowded,
            )
        finally:
            verdict.check_s = time.monotonic() - start_s
            verdict.warnings += verification.tally.warnings
            verdict.numerics = verification.tally.numerics()
        if not prepared.is_timed:
            if EMULATED in prepared.environment:
                verdict.kinds = kinds.of_emulated(runner, self._oracle)
            return
        seed = derive_seed(verdict.seed, "looks")
        sampler = StackSampler(seed, runner.child.mapped) if runner.is_read else None
        timed_sampler = None if is_first else sampler
        verdict.timing = self._time(verdict, verification, timed_sampler, max_time_s)
        verdict.numerics = verification.tally.numerics()
        verdict.warnings += [w for w in verification.tally.warnings if w not in verdict.warnings]
        if is_first and not verdict.timing.speedups[verdict.timing.strongest].is_win:
            return
        later = is_first and sampler is not None
        prepared.evidence = KindEvidence(sampler, samples_later=later)
        if not runner.is_read:
            prepared.evidence.profiler = self._profilers.submit(self._start_profiler, runner)

    def _classify(self, prepared: Submission) -> None:
        """Find out of what kind a timed candidate is, where somebody wants to know.

        Raises:
            Refused: it is too fast to be true.
        """
        verdict, runner, evidence = prepared.verdict, prepared.runner, prepared.evidence
        if evidence is None:
            return
        timed_ns = verdict.timing.median_ns(CANDIDATE)
        library_ns = verdict.timing.median_ns(verdict.timing.strongest)
        is_win = verdict.timing.speedups[verdict.timing.strongest].is_win
        evidence.wait()
        with self._machine.device_lock.exclusive():
            if evidence.samples_later:
                samples_ns = verdict.timing.samples_ns[CANDIDATE]
                fresh = FreshInputs(self._oracle, verdict.seed)
                sample_more(self._stopwatch, runner, fresh, evidence.sampler, samples_ns)
            if is_win:
                overhead_ns = self._stopwatch.overhead_ns
                self._limits.refuse_unread(timed_ns, library_ns=library_ns, overhead_ns=overhead_ns)
            does_less = is_win and self._arithmetic.exceeds(timed_ns, library_ns=library_ns)
            if does_less:
                verdict.warnings.append(Warned(WarningCode.DOES_LESS, DOES_LESS))
            verdict.kinds = kinds.of(
                runner,
                self._oracle,
                evidence.sampler,
                source=prepared.candidate.source,
                timed_ns=timed_ns,
                does_less=does_less,
            )
            if self._settings.models:  # who reads it
                verdict.profile = profiling.of(runner, self._oracle, self._settings.contexts)

    def _start_profiler(self, runner: Runner) -> None:
        """Beside others, the next candidate's checks among them."""
        with self._machine.device_lock.shared(runner):
            runner.profile(self._oracle.first_arguments)

    def _call_limit_s(self) -> float:
        slowest_ns = max(self._baselines.median_ns.values(), default=0.0)
        return max(CALL_LIMIT_S, SLOWEST * slowest_ns * 1e-9)

    def _time(
        self,
        verdict: EvaluationBuilder,
        verification: Verification,
        sampler: StackSampler | None,
        max_time_s: float,
    ) -> Timing:
        """The rounds; again without a library setting that compiles in them, and MOST_DISTURBED
        times where somebody else used the device all the time, as a library's compiler may."""
        n_disturbed = 0
        while True:
            try:
                return self._time_once(verdict, verification, sampler, max_time_s)
            except RunnerFailed as failed:
                if error := self._baselines.lose(failed):
                    raise error from failed
            except Disturbed:
                n_disturbed += 1
                if n_disturbed > MOST_DISTURBED:
                    raise
                time.sleep(DISTURBED_S)

    def _time_once(
        self,
        verdict: EvaluationBuilder,
        verification: Verification,
        sampler: StackSampler | None,
        max_time_s: float,
    ) -> Timing:
        self._baselines.start_again()
        self._baselines.measure()
        self._baselines.require_all()
        self._stopwatch.limit_s = self._call_limit_s()
        for name, reason in self._baselines.dropped.items():
            told = f"library setting {name} was not measured: {reason[:200]}"
            warned = Warned(WarningCode.BASELINE_NOT_MEASURED, told)
            verdict.warnings += [warned] if warned not in verdict.warnings else []
        kept = self._baselines.kept()
        with self._machine.device_lock.exclusive():
            pids = self._machine.factory.pids()
            start_s, watch = time.monotonic(), ConditionsWatch(self._machine.backend, pids)
            try:
                with self._stopwatch.gathered([verification.runner, *kept.values()]):
                    self._baselines.settle_in()
                    return self._compare(verdict, verification, kept, sampler, max_time_s)
            finally:
                verdict.time_s = time.monotonic() - start_s
                verdict.conditions = watch.end()
                verdict.warnings += complaints(verdict.conditions)

    def _compare(
        self,
        verdict: EvaluationBuilder,
        verification: Verification,
        kept: Mapping[str, Runner],
        sampler: StackSampler | None,
        max_time_s: float,
    ) -> Timing:
        """Time the candidate beside these library settings, and check what is timed."""
        fresh = FreshInputs(self._oracle, verdict.seed)
        checks = RoundChecks(self._stopwatch, verification, self._plan.draws, fresh, sampler)
        baselines = self._baselines
        contest = Contest(verification.runner, kept, baselines.strongest, baselines.compared)
        timing = compare(self._stopwatch, contest, checks, seed=verdict.seed, budget_s=max_time_s)
        overhead_ns = self._stopwatch.overhead_ns
        self._limits.refuse_unwritten(checks.claims, timing, overhead_ns=overhead_ns)
        return timing
