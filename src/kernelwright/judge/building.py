"""Submissions: what is known of a candidate before it is examined, and its module in a child."""

from __future__ import annotations

import secrets
import time

from kernelwright.core import plugins
from kernelwright.core.candidate import Candidate
from kernelwright.core.device import Device
from kernelwright.core.evaluation import Environment
from kernelwright.core.outcome import ReasonCode, Warned, WarningCode
from kernelwright.core.task import Task
from kernelwright.dialects import usable
from kernelwright.judge import submission as submissions
from kernelwright.judge.checks import Draw
from kernelwright.judge.machine import Machine
from kernelwright.judge.perturb.weight_sets import USUAL
from kernelwright.judge.reference.oracle import Oracle
from kernelwright.judge.refusal import Refused
from kernelwright.judge.sandbox.fork_server import MEMORY_SHARE, ChildOptions
from kernelwright.judge.sandbox.layout import contents, plan_slots
from kernelwright.judge.scheduling.memory import blamed_on_memory, within_its_part
from kernelwright.judge.screen import screen
from kernelwright.judge.submission import EvaluationBuilder, Subject, Submission


class SubmissionBuilder:
    """Makes submissions for one task, and builds each in a child of its own."""

    def __init__(
        self, task: Task, device: Device, oracle: Oracle, machine: Machine, environment: Environment
    ) -> None:
        self._task, self._device, self._oracle = task, device, oracle
        self._machine, self.environment = machine, environment
        self.workload = oracle.workload()
        self._room_bytes = max((_bytes_of(oracle, draw) for draw in oracle.other_draws), default=0)
        """The shared memory that any of the task's other inputs needs, with its outputs."""

    def submit(self, candidate: Candidate, *, timed: bool) -> Submission:
        """The submission of a candidate, before a process is spent on it."""
        subject = Subject(
            self._task.digest, self.workload.digest, candidate.digest, self.environment
        )
        verdict = EvaluationBuilder(
            subject, list(self._oracle.profile.warnings), secrets.randbits(63)
        )
        if self._task.precision:
            asked = f"{self._task.precision} was asked for: "
            seen = f"{asked}the candidate may round to it, and the library does"
            verdict.warnings.append(Warned(WarningCode.REDUCED_PRECISION, seen))
        submission = Submission(candidate, verdict)
        reason = screen(candidate)
        if reason is not None:
            submission.error = Refused(reason.code, reason.detail)
            return submission
        run_as = usable.run_as(candidate.dialect, self._device)
        dialect = plugins.find("kernelwright.dialects", run_as)
        lacking = dialect.missing(self._device)
        if lacking is not None:
            submission.error = Refused(ReasonCode.NO_TOOLCHAIN, lacking)
            return submission
        submission.environment = dialect.environment(self._device)
        is_timed = dialect.is_timed(self._device)
        submission.is_timed = timed and is_timed
        if not submission.is_timed:
            seen = usable.untimed(candidate.dialect, self._device)
            seen = "not timed: as asked" if is_timed else seen
            verdict.warnings.append(Warned(WarningCode.NOT_TIMED, seen))
        return submission

    def build(self, submission: Submission, *, memory_share: float = MEMORY_SHARE) -> None:
        """Build the module in a child, and call it once: many compilers work at the first call.

        Its result is not looked at, and no number of the judge's is drawn: this may run in a
        thread.
        """
        if submission.error is not None:
            return
        try:
            options = ChildOptions(variables=submission.environment, memory_share=memory_share)
            runner = submission.runner = self._machine.factory.make(self._oracle.example, options)
            runner.room_bytes = self._room_bytes
            submission.verdict.guarantees = runner.child.granted
            if submission.is_abandoned:
                return
            with (
                within_its_part(self._machine.backend, submission.close),
                self._machine.device_lock.shared(runner) as hold,
            ):
                start_s = time.monotonic()
                try:
                    candidate = submission.candidate
                    submissions.build(runner, self._oracle, candidate.source, candidate.entry)
                    submissions.call_once(runner, self._oracle)
                finally:
                    waited_s = 0.0 if hold is None else hold.waited_s
                    submission.verdict.build_s = time.monotonic() - start_s - waited_s
        except Refused as refused:
            submission.error = blamed_on_memory(self._machine.backend, self._task, refused)
            submission.close()  # or it would go on beside timed calls
        except Exception as error:  # of the machine, or the judge's own
            submission.error = error


def _bytes_of(oracle: Oracle, draw: Draw) -> int:
    held = contents(oracle.inputs.kept(draw), oracle.state(USUAL), draw.shapes.example)
    return plan_slots(held)[1]
