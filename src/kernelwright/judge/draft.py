"""A verdict in the making."""

from __future__ import annotations

from dataclasses import dataclass

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


@dataclass(frozen=True)
class Subject:
    """What is judged, and where: three digests and the environment."""

    task: str
    workload: str
    candidate: str
    environment: Environment


class Draft:
    """What is known about a candidate while it is judged."""

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
        """The verdict: passed where there are no reasons."""
        status = reasons[0].code.status if reasons else Status.PASSED
        passed = not reasons
        return Evaluation(
            task=self.subject.task,
            workload=self.subject.workload,
            candidate=self.subject.candidate,
            status=status,
            # Half a character, which UTF-8 has no bytes for, could be neither printed nor stored.
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
