"""What a check is: one way to perturb a task's inputs or weights, and what may differ then."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from kernelwright.core.outcome import WarningCode
from kernelwright.judge.compare.outputs import Expected
from kernelwright.judge.perturb.variation import Perturb, unchanged
from kernelwright.judge.perturb.weight_sets import AS_MADE, TOUCHED, USUAL
from kernelwright.judge.profile import TaskProfile


@dataclass(frozen=True)
class Tolerance:
    """What is allowed beyond the usual factor of the reference's own error."""

    equal_terms: bool = False
    """Sums have many nearly equal terms, whose roundings add up instead of averaging out."""
    far_from_zero: bool = False
    """A variance loses what a plain loop's sum is off by to its mean, many times over."""
    longest_sums: bool = False
    """Sums over several axes at a time count in full."""
    by_output: bool = False
    """Errors are measured on an output's largest value, not on each row's: single numbers outweigh
    all others, and algorithms that are stable by norm only (Strassen's) carry them elsewhere."""
    choices_are_luck: bool = False
    """Integer results, as an argmax, are not compared."""
    zeros_are_meant: bool = False
    """Zeros that the reference asks for stay zeros when inputs move in their last digits."""
    may_be_random: bool = False
    """The reference may draw random numbers on such inputs, and has no answer then."""


@dataclass(frozen=True)
class WarnOnly:
    """A difference is a warning: the perturbed inputs may be beyond what the task is about."""

    code: WarningCode
    warning: str
    unless: Callable[[TaskProfile, Expected, Collection[Check]], bool] = lambda *told: False
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
    """How many calls it makes, each with another seed."""
    tolerance: Tolerance = Tolerance()
    policy: WarnOnly | None = None
    """None: a difference refuses the candidate."""
    place: str = ""
    """Where a difference was found, for a reason; empty: named after the inputs."""
    answer_counts: bool = False
    """The reference's answer counts though it is not finite where the usual one is."""
    is_rare: bool = False
    """Its inputs look like the task's own to whoever samples them: checked again at the end."""
    zoo: tuple[str, ...] = ()
    """Cheats of the zoo that no other check refuses by results."""

    @property
    def is_own(self) -> bool:
        """Whether inputs and weights are like those that the task draws."""
        return self.perturb is unchanged and self.weights in (USUAL, AS_MADE, TOUCHED)

    def where(self) -> str:
        """Where something was found, for a reason."""
        return self.place or f"on {self.id} inputs"
