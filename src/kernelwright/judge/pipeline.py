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
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from kernelwright.core.errors import DeviceError, KernelwrightError
from kernelwright.core.evaluation import CANDIDATE, Evaluation, Timing
from kernelwright.core.outcome import Reason, ReasonCode, Warned, WarningCode
from kernelwright.core.settings import Settings
from kernelwright.dialects.compile_shader import EMULATED
from kernelwright.judge.baselines.runs import BaselineRuns
from kernelwright.judge.checks import derive_seed
from kernelwright.judge.devices.roofline import DOES_LESS, Arithmetic
from kernelwright.judge.kinds import kinds, profiling
from kernelwright.judge.kinds.sampling import StackSampler
from kernelwright.judge.machine import Machine
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
"""A candidate is timed again so often because somebody else used the device, after so many
seconds."""
SURELY_SLOWER = 0.9
"""A winner whose single calls are this much slower than the library's is warned about."""
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

    def examine(self, submission: Submission, max_time_s: float, *, is_first: bool = False) -> None:
        """Check and time a built candidate; a failure is its verdict.

        ``is_first``: a winner is to be measured again. So a loser is not classified, and a winner
        on a CPU is looked at after the rounds, not among them.
        """
        with self._attempt(submission):
            self._check_and_time(submission, max_time_s, is_first=is_first)

    def finish(self, submission: Submission) -> Evaluation:
        """Classify an examined candidate, and end it."""
        if submission.found is None and submission.evidence is not None:
            with self._attempt(submission):
                self._classify(submission, submission.evidence)
        found = submission.found = submission.found or submission.verdict.conclude()
        submission.close()
        return found

    def finished(self, waiting: deque[Submission], n_starting: int = 0) -> Iterator[Evaluation]:
        """The verdicts on examined candidates, in their order.

        Up to ``n_starting`` of those whose profilers still start are left waiting, and what came
        after them.
        """
        while waiting:
            n_left = sum(submission.is_starting for submission in waiting)
            if waiting[0].is_starting and n_left <= n_starting:
                return
            yield self.finish(waiting.popleft())

    @contextlib.contextmanager
    def _attempt(self, submission: Submission) -> Iterator[None]:
        """A part of an examination; a failure in it is the verdict, and ends the candidate."""
        try:
            with memory_apart(), self._oracle.computing():
                yield
            return
        except Refused as refused:
            reason = blamed_on_memory(self._machine.backend, self._oracle.task, refused).reason
        except (DeviceError, MemoryError) as error:
            if held := held_bytes(self._machine.backend, submission.close):
                reason = too_much(held).reason
            else:
                self._baselines.excuse()
                is_memory = isinstance(error, MemoryError)
                code = ReasonCode.JUDGE_OUT_OF_MEMORY if is_memory else ReasonCode.DEVICE_FAILED
                reason = Reason(code, str(error) or type(error).__name__)
        except KernelwrightError:  # about the task
            submission.close()
            raise
        except Exception as error:  # a fault of the judge's own costs one candidate, not the run
            self._show(error)
            why = f"the judge failed on it: {type(error).__name__}: {error}"
            reason = Reason(ReasonCode.JUDGE_FAILED, why)
        except BaseException:
            submission.close()
            raise
        submission.found = submission.verdict.conclude(reason)
        submission.close()

    def _show(self, error: Exception) -> None:
        """Print the traceback, once for each place that fails: the verdict has no room for it, and
        looks like that of a bad machine."""
        where = "".join(traceback.format_tb(error.__traceback__))
        if where not in self._shown:
            self._shown.add(where)
            sys.stderr.write("the judge failed on a candidate; please report this:\n")
            traceback.print_exception(error)

    def _check_and_time(self, submission: Submission, max_time_s: float, *, is_first: bool) -> None:
        verdict, runner = submission.verdict, submission.built
        verification = Verification(self._oracle, runner, derive_seed(verdict.seed, "verify"))
        self._check(verdict, verification)
        if not submission.is_timed:
            if EMULATED in submission.environment:
                verdict.kinds = kinds.of_emulated(runner, self._oracle)
            return
        seed = derive_seed(verdict.seed, "looks")
        sampler = StackSampler(seed) if runner.is_read else None
        timed_sampler = None if is_first else sampler
        timing = self._time(verdict, verification, timed_sampler, max_time_s)
        verdict.timing, verdict.numerics = timing, verification.tally.numerics()
        said = verification.tally.warnings
        verdict.warnings += [one for one in said if one not in verdict.warnings]
        is_win, single = timing.speedups[timing.strongest].is_win, timing.single_speedup
        if is_win and single is not None and single < SURELY_SLOWER:
            told = f"a single call that is waited for: {single:.2f} times as fast as the library's"
            verdict.warn(WarningCode.SLOW_TO_START, told)
        if is_first and not is_win:
            return
        later = is_first and sampler is not None
        submission.evidence = KindEvidence(timing, sampler, samples_later=later)
        if sampler is None:
            submission.evidence.profiler = self._profilers.submit(self._start_profiler, runner)

    def _check(self, verdict: EvaluationBuilder, verification: Verification) -> None:
        """Run the checks of the registry."""
        self._stopwatch.prioritise(verification.runner)
        self._stopwatch.limit_s = self._call_limit_s()
        lock, is_crowded = self._machine.device_lock, self._baselines.is_crowded
        start_s = time.monotonic()
        try:
            self._plan.run(verification, self._stopwatch, lock, is_crowded=is_crowded)
        finally:
            verdict.check_s = time.monotonic() - start_s
            verdict.warnings += verification.tally.warnings
            verdict.numerics = verification.tally.numerics()

    def _classify(self, submission: Submission, evidence: KindEvidence) -> None:
        """Find out of what kind a timed candidate is.

        Raises:
            Refused: it is too fast to be true.
        """
        verdict, runner, timing = submission.verdict, submission.built, evidence.timing
        timed_ns, library_ns = timing.median_ns(CANDIDATE), timing.median_ns(timing.strongest)
        is_win = timing.speedups[timing.strongest].is_win
        evidence.wait()
        with self._machine.device_lock.exclusive():
            if evidence.sampler is not None and evidence.samples_later:
                window_ns = timed_ns * timing.calls[CANDIDATE]
                sample_more(self._stopwatch, runner, evidence.sampler, [window_ns])
            if is_win:
                self._limits.refuse_unread(
                    timed_ns, library_ns=library_ns, floor_ns=timing.floor_ns
                )
            does_less = is_win and self._arithmetic.exceeds(timed_ns, library_ns=library_ns)
            if does_less:
                verdict.warn(WarningCode.DOES_LESS, DOES_LESS)
            verdict.kinds = kinds.of(
                runner,
                self._oracle,
                evidence.sampler,
                source=submission.candidate.source,
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
        """Time the candidate beside the library settings, and check what is timed."""
        baselines, stopwatch = self._baselines, self._stopwatch
        baselines.start_again()
        baselines.measure()
        baselines.require_all()
        stopwatch.limit_s = self._call_limit_s()
        for name, why in baselines.dropped.items():
            said = f"library setting {name} was not measured: {why[:200]}"
            warned = Warned(WarningCode.BASELINE_NOT_MEASURED, said)
            verdict.warnings += [warned] if warned not in verdict.warnings else []
        kept, fresh = baselines.kept(), FreshInputs(self._oracle, verdict.seed)
        checks = RoundChecks(stopwatch, verification, self._plan.draws, fresh, sampler)
        with self._machine.device_lock.exclusive():
            pids = self._machine.factory.pids()
            start_s, watch = time.monotonic(), ConditionsWatch(self._machine.backend, pids)
            try:
                with stopwatch.gathered([verification.runner, *kept.values()]):
                    baselines.settle_in()
                    pair = baselines.strongest, baselines.compared
                    contest = Contest(verification.runner, kept, *pair)
                    timing = compare(
                        stopwatch, contest, checks, seed=verdict.seed, budget_s=max_time_s
                    )
                    self._limits.refuse_unwritten(checks.claims, timing)
                    return timing
            finally:
                verdict.time_s = time.monotonic() - start_s
                verdict.conditions = watch.end()
                verdict.warnings += complaints(verdict.conditions)
