"""Rewards of judged answers: pure functions of the judge's verdict, never of an answer's text.

A policy could earn rewards without writing better kernels. The countermeasures are:

- Measurement noise: a speedup counts by the lower end of its interval, and a suspiciously large one
  is measured twice (``jumps``).
- Repeating one kernel until a measurement is lucky: a text with a verdict is not judged again
  (``reward_pool``).
- Returning a kernel that the prompt showed: a copy earns no more than a wrong kernel. When a copy
  earned a quarter, a model whose own answers were correct learned to copy within five steps.
- Calling the library: a kernel in the dialect must do the work, as the profile of the call shows.
- A task whose output is constant or does not depend on the inputs: speed earns nothing there.
- Cheating: it earns less than a wrong kernel, so that trying has a cost.
- A fault of the machine or of the task: it earns no reward, neither a good nor a bad one.

Source:
    Group-normalised and clipped rewards: CUDA-L1, arXiv 2507.14111, section on reward smoothing.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kernelwright.core.errors import TaskError, UsageError, nearest
from kernelwright.core.evaluation import Evaluation, Ratio
from kernelwright.core.outcome import Status

REFUSED = {Status.TAMPERED: -1.0, Status.REJECTED: -0.5}
"""Rewards of candidates that the judge's guards refused. A rejection may be an honest mistake;
tampering is not."""
WRONG = 0.0
RIGHT = 2.0
LIMIT = 1.5
"""Bound on the absolute value of log speedups and of z-scores, as in CUDA-L1. A correct kernel
earns at least RIGHT - LIMIT, more than a copy or a wrong kernel."""
TELLING = 0.1
"""Smallest standard deviation that a group's rewards are divided by. Without it, a group of correct
kernels whose speeds differ by a hundredth would train as strongly as correct against wrong."""
JUMP = 1.5
"""A speedup this many times the best so far, or the library's speed, is measured twice."""
DISCOUNT = 0.4
"""Discount of a reward for each turn that it comes later. Kevin, arXiv 2507.11948, where it did
better than 0.8."""


@dataclass(frozen=True)
class Judged:
    """The result of judging one answer."""

    evaluation: Evaluation | None
    """The verdict; None if the answer contains no code that can be judged."""
    is_copy: bool = False
    """Whether the answer repeats a kernel that its conversation showed, ignoring layout and
    comments."""
    again: Evaluation | None = None
    """The second verdict, if the first was implausibly good."""
    fault: TaskError | None = None
    """The reason why the task cannot be run."""
    audit: Evaluation | None = None
    """The judge's verdict on an answer that the fast judge has judged, if it was audited. If it
    refuses the answer it is the ``evaluation`` too."""
    is_disputed: bool = False
    """Whether the audit and the fast judge disagree on whether the answer is right."""


def by_speed(judged: Judged) -> float | None:
    """Reward the logarithm of the speedup's lower end, for correct kernels of the policy's own.

    This is the default reward.
    """
    if _is_blameless(judged):
        return None
    found = judged.evaluation
    if found is None:
        return WRONG
    if not found.passed:
        return REFUSED.get(found.status, WRONG)
    if not _is_earned(judged):
        return WRONG
    speed = _log_speed(judged)
    return RIGHT - LIMIT if speed is None else RIGHT + max(-LIMIT, min(LIMIT, speed))


def by_rightness(judged: Judged) -> float | None:
    """Reward a correct kernel with 1 and anything else with 0.

    AutoTriton and the second stage of CUDA-L1 use this reward.
    """
    return None if _is_blameless(judged) else float(_is_earned(judged))


def by_milestone(judged: Judged) -> float | None:
    """Reward milestones, as CUDA Agent does.

    The reward is -1 for a wrong kernel, 1 for a correct one, 2 if it is certainly faster than eager
    and 3 if it is certainly faster than torch.compile as well.
    """
    if _is_blameless(judged):
        return None
    if not _is_earned(judged):
        return -1.0
    passed = [n for n in ("eager", "compile") if _lowest(judged, n) > 1]
    return 3.0 if len(passed) == 2 else 2.0 if "eager" in passed else 1.0


REWARDS: dict[str, Callable[[Judged], float | None]] = {
    "speed": by_speed,
    "right": by_rightness,
    "milestone": by_milestone,
}


CLIPPED, SCALED, PARTS = "clipped", "scaled", "parts"
ADVANTAGES = (CLIPPED, SCALED, PARTS)
"""How the rewards of a group become advantages: clipped z-scores (``smoothed``), rewards that the
trainer divides by their deviation, or correctness and speed apart (``in_parts``)."""


def find(name: str) -> Callable[[Judged], float | None]:
    """Return the reward function of this name.

    Raises:
        UsageError: there is no such reward.
    """
    if name not in REWARDS:
        raise UsageError(f'no reward "{name}"', seen=name, do=nearest(name, REWARDS))
    return REWARDS[name]


def smoothed(rewards: Sequence[float | None]) -> list[float | None]:
    """Return the rewards of one group as clipped z-scores, so that no single kernel dominates.

    None stays None and does not count. Equal rewards give zeros, and nearly equal ones stay small
    because of ``TELLING``.
    """
    known = [reward for reward in rewards if reward is not None]
    centre = statistics.fmean(known) if known else 0.0
    spread = max(TELLING, statistics.pstdev(known) if known else 0.0)
    return [None if r is None else max(-LIMIT, min(LIMIT, (r - centre) / spread)) for r in rewards]


def in_parts(judged: Sequence[Judged]) -> list[float | None]:
    """Return the advantages of one group's answers, correctness and speed apart.

    The part for correctness is 1 for a correct kernel of the policy's own and 0 for any other
    answer (less for a refused one), minus the group's mean. It weighs 1 if less than half of the
    group is correct, and a half otherwise. The part for speed compares correct kernels with one
    another: it is the logarithm of the speedup minus its mean over them, at most ``LIMIT`` up or
    down, and 0 while less than half of the group is correct. Neither part is divided by a
    deviation, so a group whose speeds differ by noise alone has small advantages. None, for a fault
    of the machine or of the task, does not count.

    Source:
        Speed counts only among correct answers, and only where half of the group is correct:
        DRTriton and KernelZero. Advantages without a division: Dr. GRPO, arXiv 2503.20783.
    """
    counted = [each for each in judged if not _is_blameless(each)]
    earned = [each for each in counted if _is_earned(each)]
    if not counted:
        return [None] * len(judged)
    is_mostly_right = 2 * len(earned) >= len(counted)
    weight = 0.5 if is_mostly_right else 1.0
    centre = statistics.fmean(_rightness(each) for each in counted)
    speeds = [speed for each in earned if (speed := _log_speed(each)) is not None]
    mean = statistics.fmean(speeds) if speeds else 0.0

    def advantage(each: Judged) -> float | None:
        if _is_blameless(each):
            return None
        speed = _log_speed(each) if is_mostly_right and _is_earned(each) else None
        faster = 0.0 if speed is None else max(-LIMIT, min(LIMIT, speed - mean))
        return weight * (_rightness(each) - centre) + faster

    return [advantage(each) for each in judged]


def returns(rewards: Sequence[float | None]) -> list[float | None]:
    """Return the discounted return of each turn of a conversation.

    It is the turn's own reward plus the discounted rewards of later turns. None stays None and adds
    nothing to other turns.
    """
    found: list[float | None] = []
    later = 0.0
    for earned in reversed(rewards):
        later = (earned or 0.0) + DISCOUNT * later
        found.append(None if earned is None else later)
    return found[::-1]


def jumps(speedup: Ratio | None, best: float) -> bool:
    """Whether a speedup exceeds the ``best`` so far by so much that it must be measured again."""
    return speedup is not None and speedup.low > JUMP * max(best, 1.0)


def _rightness(judged: Judged) -> float:
    """Return 1 for a correct kernel of the policy's own, and 0 or a refusal's reward otherwise."""
    found = judged.evaluation
    if found is not None and not found.passed:
        return REFUSED.get(found.status, WRONG)
    return float(_is_earned(judged))


def _is_blameless(judged: Judged) -> bool:
    found = judged.evaluation
    is_machine = found is not None and found.status is Status.INFRA_ERROR
    return is_machine or judged.fault is not None


def _is_earned(judged: Judged) -> bool:
    """Whether the kernel is correct, is no copy, and is not known to call the library instead."""
    verdicts = [found for found in (judged.evaluation, judged.again) if found is not None]
    is_right = bool(verdicts) and all(found.passed for found in verdicts)
    return is_right and not judged.is_copy and all(found.is_own for found in verdicts)


def _log_speed(judged: Judged) -> float | None:
    """Return the logarithm of a correct kernel's lowest speedup; None if its speed earns nothing:
    it was not timed, its task is degenerate, or the work is not known to be its own."""
    found = judged.evaluation
    if found is None or found.timing is None or found.is_degenerate or not found.kinds:
        return None
    return math.log(_lowest(judged))


def _lowest(judged: Judged, baseline: str = "") -> float:
    """Return the lowest lower end of the speedup over all verdicts; 0 if it was not timed.

    The speedup is against ``baseline``, by default against the strongest one of each verdict.
    """
    verdicts = (judged.evaluation, judged.again)
    timings = [found.timing for found in verdicts if found is not None and found.timing is not None]
    named = [(timing, baseline or timing.strongest) for timing in timings]
    lows = [timing.speedups[name].low for timing, name in named if name in timing.speedups]
    return min(lows, default=0.0)
