"""One candidate on its way through the judge, and the evaluation that is built of it."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field

import torch

from kernelwright.core.candidate import Candidate
from kernelwright.core.conditions import Conditions
from kernelwright.core.evaluation import (
    Cost,
    Environment,
    Evaluation,
    KernelProfile,
    Numerics,
    Timing,
)
from kernelwright.core.outcome import Reason, Status, Warned
from kernelwright.judge import JUDGE_VERSION
from kernelwright.judge.kinds.sampling import StackSampler
from kernelwright.judge.perturb.weight_sets import AS_MADE, USUAL
from kernelwright.judge.reference.oracle import Oracle
from kernelwright.judge.sandbox.layout import is_expanded
from kernelwright.judge.sandbox.outputs import ResultForm
from kernelwright.judge.sandbox.program import LibrarySetup, Program
from kernelwright.judge.sandbox.runner import Runner

BUILD_LIMIT_S = 180.0  # load_inline with CUDA took 30.5 s on an H200 and 90 s on a slow CPU
FIRST_CALL_LIMIT_S = 180.0  # torch.compile on two busy cores took 60 s


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

    def conclude(self, *reasons: Reason) -> Evaluation:
        """The verdict; without reasons it has passed."""
        status = reasons[0].code.status if reasons else Status.PASSED
        passed = not reasons
        return Evaluation(
            task=self.subject.task,
            workload=self.subject.workload,
            candidate=self.subject.candidate,
            status=status,
            # A lone surrogate, which UTF-8 cannot encode, could be neither printed nor stored.
            reasons=tuple(
                Reason(one.code, one.detail.encode("utf-8", "replace").decode()) for one in reasons
            ),
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


@dataclass
class KindEvidence:
    """How the kind of a timed candidate is found out."""

    sampler: StackSampler | None
    """Samples of its threads' stacks, taken from outside, where that is possible; otherwise the
    child's own profiler is asked."""
    samples_later: bool
    """Whether no sample has been taken yet."""
    profiler: Future[None] | None = None
    """The start of the child's profiler, where that takes long."""

    @property
    def is_ready(self) -> bool:
        """Whether ``wait`` would return at once."""
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
    environment: Mapping[str, str] = field(default_factory=dict)
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
    def is_starting(self) -> bool:
        """Whether it has no verdict yet because its profiler has not started."""
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


def build(
    runner: Runner, oracle: Oracle, source: str, entry: str, setup: LibrarySetup | None = None
) -> None:
    """Make the module of a source in a child, with the task's weights and arguments."""
    program = Program(
        source,
        entry,
        pickle.dumps(oracle.forward.initial),
        oracle.forward.weight_seed,
        setup,
        mode=oracle.forward.task.mode,
        spare=_constant_buffers(oracle),
        may_expand=any(map(is_expanded, oracle.example)),
        entries=oracle.profile.results.entries,
    )
    runner.form = ResultForm(
        runner.like,
        nesting=oracle.profile.results.nesting,
        n_entries=len(oracle.profile.results.entries),
        changed=tuple(oracle.profile.results.changed),
        keeps_arguments=any(oracle.profile.results.returned) or any(oracle.profile.results.changed),
    )
    runner.build(program, oracle.state(USUAL), oracle.first_arguments, limit_s=BUILD_LIMIT_S)


def _constant_buffers(oracle: Oracle) -> tuple[str, ...]:
    """The buffers that no drawing of weights changes: a module may make such tables itself."""
    buffers = {
        name for name, _ in oracle.forward.modules[USUAL].named_buffers(remove_duplicate=False)
    }
    own, others = oracle.state(USUAL), oracle.state(AS_MADE)
    return tuple(n for n in own if n in buffers and torch.equal(own[n], others[n]))


def call_once(runner: Runner, oracle: Oracle) -> None:
    """One call whose result nobody looks at."""
    runner.put(oracle.first_arguments)
    runner.call(limit_s=FIRST_CALL_LIMIT_S, take=False, may_be_long=True)
    runner.release()
