"""A candidate on its way through the judge: it is submitted, built in a child, and concluded."""

from __future__ import annotations

import pickle
import secrets
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path

import torch

from kernelwright.core import plugins
from kernelwright.core.candidate import Candidate
from kernelwright.core.conditions import Conditions
from kernelwright.core.device import Device
from kernelwright.core.evaluation import (
    Cost,
    Environment,
    Evaluation,
    KernelProfile,
    Numerics,
    Timing,
)
from kernelwright.core.outcome import Reason, ReasonCode, Status, Warned, WarningCode
from kernelwright.core.task import FULL_PRECISION, Task
from kernelwright.dialects import usable
from kernelwright.judge import JUDGE_VERSION
from kernelwright.judge.kinds.sampling import StackSampler
from kernelwright.judge.machine import Machine
from kernelwright.judge.perturb.weight_sets import AS_MADE, USUAL
from kernelwright.judge.reference.oracle import Oracle
from kernelwright.judge.refusal import Refused
from kernelwright.judge.sandbox.isolation import MEMORY_SHARE, ChildOptions
from kernelwright.judge.sandbox.layout import contents, is_expanded, plan_slots
from kernelwright.judge.sandbox.outputs import ResultForm
from kernelwright.judge.sandbox.program import LibrarySetup, Program
from kernelwright.judge.sandbox.runner import Runner
from kernelwright.judge.scheduling.memory import blamed_on_memory, within_its_part
from kernelwright.judge.screen import screen

BUILD_LIMIT_S = 180.0  # load_inline with CUDA took 30.5 s on an H200 and 90 s on a slow CPU
FIRST_CALL_LIMIT_S = 180.0  # torch.compile on two busy cores took 60 s
ReadyBuilds = Callable[[Candidate], Sequence[Path]]
"""The folders of Triton's cache that our own code has filled for a candidate of this text."""
WITHOUT_TF32 = {"NVIDIA_TF32_OVERRIDE": "0"}
"""The environment in which NVIDIA's libraries never round to TF32 (cuBLAS's documentation)."""


@dataclass(frozen=True)
class Subject:
    """The subject of an evaluation: three digests and the environment."""

    task: str
    workload: str
    candidate: str
    environment: Environment


class EvaluationBuilder:
    """The findings about a candidate while it is judged."""

    def __init__(self, subject: Subject, warnings: list[Warned], seed: int) -> None:
        self.subject, self.seed = subject, seed
        self.guarantees: frozenset[str] = frozenset()
        self.warnings = warnings
        self.numerics: Numerics | None = None
        self.timing: Timing | None = None
        self.conditions: Conditions | None = None
        self.kinds: tuple[str, ...] = ()
        self.profile: tuple[KernelProfile, ...] = ()
        self.build_s = self.check_s = self.time_s = 0.0

    def warn(self, code: WarningCode, detail: str) -> None:
        self.warnings.append(Warned(code, detail))

    def conclude(self, reason: Reason | None = None) -> Evaluation:
        """The verdict; without a reason it has passed."""
        passed = reason is None
        status = Status.PASSED if reason is None else reason.code.status
        assert status is not None  # a judge gives no unclassified reason
        # A lone surrogate, which UTF-8 cannot encode, could be neither printed nor stored.
        reasons = () if reason is None else (Reason(reason.code, _encodable(reason.detail)),)
        return Evaluation(
            task=self.subject.task,
            workload=self.subject.workload,
            candidate=self.subject.candidate,
            status=status,
            reasons=reasons,
            environment=self.subject.environment,
            seed=self.seed,
            judge_version=JUDGE_VERSION,
            kinds=self.kinds if passed else (),
            warnings=tuple(self.warnings),
            numerics=self.numerics,
            timing=self.timing if passed else None,
            cost=Cost(self.build_s, self.check_s, self.time_s),
            guarantees=tuple(sorted(self.guarantees)),
            profile=self.profile if passed else (),
            conditions=self.conditions if passed else None,
        )


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


@dataclass
class KindEvidence:
    """The means of finding out the kind of a timed candidate."""

    timing: Timing
    sampler: StackSampler | None
    """Samples of its threads' stacks, taken from outside, where that is possible; otherwise the
    child's own profiler is asked."""
    samples_later: bool
    """True if no sample has been taken yet."""
    profiler: Future[None] | None = None
    """The start of the child's profiler, where that takes long."""

    @property
    def is_ready(self) -> bool:
        """True if ``wait`` would return at once."""
        return self.profiler is None or self.profiler.done()

    def wait(self) -> None:
        """Return when its profiler has started, or failed to: its next use says why."""
        if self.profiler is not None:
            self.profiler.exception()


@dataclass
class Submission:
    """One candidate with the child that was made for it."""

    candidate: Candidate
    verdict: EvaluationBuilder
    is_timed: bool = False
    environment: dict[str, str] = field(default_factory=dict)
    """The environment variables that its dialect wants in its child."""
    runner: Runner | None = None
    error: Exception | None = None
    """Why it cannot be examined."""
    evidence: KindEvidence | None = None
    """None where nobody asks for its kind, or it has not been timed yet."""
    found: Evaluation | None = None
    """The verdict, as soon as there is one."""
    is_abandoned: bool = False

    @property
    def built(self) -> Runner:
        """The runner of a candidate that has been built, or the error why it has not."""
        if self.error is not None:
            raise self.error
        assert self.runner is not None
        return self.runner

    @property
    def is_starting(self) -> bool:
        """True if it has no verdict yet because its profiler has not started."""
        return self.found is None and self.evidence is not None and not self.evidence.is_ready

    def abandon(self) -> None:
        """Make the thread that builds it come to an end soon."""
        self.is_abandoned = True
        if self.runner is not None:
            self.runner.child.kill()

    def close(self) -> None:
        if self.runner is None:
            return
        if self.evidence is not None:
            self.runner.child.kill()  # a profiler may still start
            self.evidence.wait()
        self.runner.close()


class SubmissionBuilder:
    """Makes submissions for one task, and builds each in a child of its own."""

    def __init__(
        self, task: Task, device: Device, oracle: Oracle, machine: Machine, environment: Environment
    ) -> None:
        self._task, self._device, self._oracle = task, device, oracle
        self._machine, self.environment = machine, environment
        self.ready_builds: ReadyBuilds = lambda candidate: ()
        self.workload = oracle.workload()
        state, kept = oracle.state(USUAL), oracle.inputs.kept
        others = [(kept(d), state, d.shapes.example) for d in oracle.other_draws if d.shapes]
        self._room_bytes = max((plan_slots(contents(*other))[1] for other in others), default=0)
        """The shared memory that any of the task's other inputs needs, with its outputs."""

    def submit(self, candidate: Candidate, *, timed: bool) -> Submission:
        """The submission of a candidate, before a process is spent on it."""
        digests = self._task.digest, self.workload.digest, candidate.digest
        warnings = list(self._oracle.profile.warnings)
        subject = Subject(*digests, self.environment)
        verdict = EvaluationBuilder(subject, warnings, secrets.randbits(63))
        if self._task.precision not in ("", FULL_PRECISION):
            seen = "was asked for: the candidate may round to it, and the library does"
            verdict.warn(WarningCode.REDUCED_PRECISION, f"{self._task.precision} {seen}")
        submission = Submission(candidate, verdict)
        if (reason := screen(candidate)) is not None:
            submission.error = Refused(reason.code, reason.detail)
            return submission
        run_as = usable.run_as(candidate.dialect, self._device)
        dialect = plugins.find("kernelwright.dialects", run_as)
        if (lacking := dialect.missing(self._device)) is not None:
            submission.error = Refused(ReasonCode.NO_TOOLCHAIN, lacking)
            return submission
        submission.environment = dict(dialect.environment(self._device))
        if self._task.precision == FULL_PRECISION:
            submission.environment |= WITHOUT_TF32
        is_timed = dialect.is_timed(self._device)
        submission.is_timed = timed and is_timed
        if not submission.is_timed:
            why = usable.untimed(candidate.dialect, self._device)
            verdict.warn(WarningCode.NOT_TIMED, "not timed: as asked" if is_timed else why)
        return submission

    def build(self, submission: Submission, *, memory_share: float = MEMORY_SHARE) -> None:
        """Build the module in a child, and call it once: many compilers work at the first call.

        Its result is not looked at, and no number of the judge's is drawn: this may run in a
        thread. A failure becomes the submission's ``error``.
        """
        if submission.error is not None:
            return
        try:
            self._build(submission, memory_share)
        except Refused as refused:
            submission.error = blamed_on_memory(self._machine.backend, self._task, refused)
            submission.close()  # or it would go on beside timed calls
        except Exception as error:  # of the machine, or the judge's own
            submission.error = error

    def _build(self, submission: Submission, memory_share: float) -> None:
        options = ChildOptions(
            variables=submission.environment,
            memory_share=memory_share,
            ready=tuple(self.ready_builds(submission.candidate)),
        )
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
                candidate, is_ours = submission.candidate, bool(options.ready)
                build(runner, self._oracle, candidate.source, candidate.entry, is_ours=is_ours)
                runner.put(self._oracle.first_arguments)
                runner.call(limit_s=FIRST_CALL_LIMIT_S, take=False, may_be_long=True)
                runner.release()
            finally:
                waited_s = 0.0 if hold is None else hold.waited_s
                submission.verdict.build_s = time.monotonic() - start_s - waited_s


def build(
    runner: Runner,
    oracle: Oracle,
    source: str,
    entry: str,
    setup: LibrarySetup | None = None,
    *,
    is_ours: bool = False,
) -> None:
    """Make the module of a source in a child, with the task's weights and arguments."""
    results, state = oracle.profile.results, oracle.state(USUAL)
    program = Program(
        source,
        entry,
        pickle.dumps(oracle.forward.initial),
        oracle.forward.weight_seed,
        setup,
        mode=oracle.forward.task.mode,
        spare=_constant_buffers(oracle),
        may_expand=any(map(is_expanded, oracle.example)),
        entries=results.entries,
        is_ours=is_ours,
    )
    runner.form = ResultForm(
        runner.like,
        nesting=results.nesting,
        n_entries=len(results.entries),
        changed=tuple(results.changed),
        keeps_arguments=any(results.returned) or any(results.changed),
    )
    runner.build(program, state, oracle.first_arguments, limit_s=BUILD_LIMIT_S)


def _constant_buffers(oracle: Oracle) -> tuple[str, ...]:
    """The buffers that no drawing of weights changes: a module may make such tables itself."""
    named = oracle.forward.modules[USUAL].named_buffers(remove_duplicate=False)
    buffers = {name for name, _ in named}
    own, others = oracle.state(USUAL), oracle.state(AS_MADE)
    return tuple(n for n in own if n in buffers and torch.equal(own[n], others[n]))
