"""A check is one way to perturb a task's inputs or weights; a draw is one call under a check."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from kernelwright.core.outcome import WarningCode
from kernelwright.judge.compare.expected import Expected
from kernelwright.judge.perturb.variation import Perturb, unchanged
from kernelwright.judge.perturb.weight_sets import AS_MADE, TOUCHED, USUAL
from kernelwright.judge.profile import Shapes, TaskProfile


@dataclass(frozen=True)
class Tolerance:
    """Allowances of a check beyond the usual factor of the reference's own error."""

    equal_terms: bool = False
    """Sums have many nearly equal terms, whose roundings add up instead of averaging out."""
    by_output: bool = False
    """Errors are measured on an output's largest value, not on each row's: single numbers outweigh
    all others, and algorithms that are stable by norm only (Strassen's) carry them elsewhere."""
    choices_are_luck: bool = False
    """Integer results, as an argmax, are not compared."""
    zeros_are_meant: bool = False
    """Zeros that the reference asks for stay zeros when inputs move in their last digits."""
    may_be_random: bool = False
    """The reference may draw random numbers on such inputs, and has no answer then."""


def _never(profile: TaskProfile, expected: Expected, warned: Collection[Check]) -> bool:
    return False


@dataclass(frozen=True)
class WarnOnly:
    """A difference is a warning: the perturbed inputs may be beyond what the task is about."""

    code: WarningCode
    warning: str
    unless: Callable[[TaskProfile, Expected, Collection[Check]], bool] = _never
    """Whether a difference refuses all the same, given the profile, what was expected, and the
    checks on which the candidate has already differed with a warning."""


@dataclass(frozen=True, eq=False)
class Check:
    """A row of the registry."""

    id: str
    why: str
    """Completes the sentence: it refuses a candidate that …"""
    perturb: Perturb = unchanged
    weights: str = USUAL
    """The set of weights of its calls."""
    applies: Callable[[TaskProfile], bool] = lambda profile: True
    n_turns: Callable[[TaskProfile], int] = lambda profile: 1
    """The number of calls that it makes, each with another seed."""
    tolerance: Tolerance = Tolerance()
    policy: WarnOnly | None = None
    """If it is None, a difference refuses the candidate."""
    place: str = ""
    """The place of a difference, for a reason; if it is empty, the inputs are named."""
    answer_counts: bool = False
    """The reference's answer counts though it is not finite where the usual one is."""
    is_rare: bool = False
    """A sample of its inputs looks like the task's own: the check is made again at the end."""
    zoo: tuple[str, ...] = ()
    """Cheats of the zoo that no other check refuses by results."""

    @property
    def is_own(self) -> bool:
        """Whether inputs and weights are like those that the task draws."""
        return self.perturb is unchanged and self.weights in (USUAL, AS_MADE, TOUCHED)


@dataclass(frozen=True)
class Draw:
    """One set of inputs and weights for a call. Nobody can guess it without the judge's secret."""

    check: Check
    seed: int
    turn: int = 0
    """The number of the call among those of its check; a part of the seed."""
    shapes: Shapes | None = None
    """The task's other set of inputs that it is drawn from, if it is."""

    @property
    def weights(self) -> str:
        return self.check.weights

    @property
    def name(self) -> str:
        """The name of its inputs in verdicts."""
        return self.shapes.name if self.shapes else self.check.id

    @property
    def place(self) -> str:
        """The place of a finding, for a reason."""
        if self.shapes:
            return f"on {self.shapes.name} inputs"
        return self.check.place or f"on {self.check.id} inputs"


def derive_seed(secret: int, *parts: Any) -> int:
    """Return a 63-bit seed for what ``parts`` name."""
    text = repr((secret, parts)).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little") >> 1
