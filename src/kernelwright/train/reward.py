"""What a judged answer earns: pure functions of the judge's verdict, never of what a text says.

Ways to earn without a better kernel, and what shuts them:

- noise: speed counts by the lower end of its interval, and a jump is measured again (``jumps``);
- one kernel offered until it is lucky: a text that has a verdict is not judged again (``court``);
- handing back a kernel that the prompt showed: a copy earns as little as a wrong kernel. When it
  earned a quarter, a model whose own answers were right was taught to copy within five steps;
- calling the library: a kernel in the dialect must do the work, as the profile of the call shows;
- a task whose output is constant or free of the inputs: speed earns nothing there;
- cheating: less than a wrong kernel, so that trying costs;
- a fault of the machine, or of the task: no reward at all, neither good nor bad.

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
"""What guards refuse: the second may be a mistake, the first is none."""
WRONG = 0.0
RIGHT = 2.0
LIMIT = 1.5
"""Of log speedups and of z-scores alike, on both sides: CUDA-L1. What is right earns at least
RIGHT - LIMIT, more than a copy or anything wrong."""
TELLING = 0.1
"""Of a group's deviation: what is less is not blown up to it. Kernels that are all right, and as
fast but for a hundredth, would pull as hard as right beside wrong."""
JUMP = 1.5  # over the best before it, or over the library: so much is measured twice
DISCOUNT = 0.4
"""Of what comes a turn later: Kevin's, arXiv 2507.11948, where it did better than 0.8."""


@dataclass(frozen=True)
class Judged:
    """What became of one answer."""

    evaluation: Evaluation | None
    """None where it has no code that could be judged."""
    is_copy: bool = False
    """Whether it repeats a kernel that its conversation showed, layout and comments apart."""
    again: Evaluation | None = None
    """The second verdict, where the first was a jump."""
    fault: TaskError | None = None
    """Why its task cannot be run."""


def by_speed(judged: Judged) -> float | None:
    """The default: the logarithm of the speedup's lower end, for what is right and its own."""
    if _is_blameless(judged):
        return None
    found = judged.evaluation
    if found is None:
        return WRONG
    if not found.passed:
        return REFUSED.get(found.status, WRONG)
    if not _is_earned(judged):
        return WRONG
    if found.timing is None or found.is_degenerate or not found.kinds:
        return RIGHT - LIMIT
    return RIGHT + max(-LIMIT, min(LIMIT, math.log(_lowest(judged))))


def by_rightness(judged: Judged) -> float | None:
    """1 for a right kernel, 0 for everything else. AutoTriton's, and CUDA-L1's second stage's."""
    return None if _is_blameless(judged) else float(_is_earned(judged))


def by_milestone(judged: Judged) -> float | None:
    """-1 not right, 1 right, 2 surely faster than eager, 3 than torch.compile too: CUDA Agent's."""
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


def find(name: str) -> Callable[[Judged], float | None]:
    """The reward of this name.

    Raises:
        UsageError: there is none.
    """
    if name not in REWARDS:
        raise UsageError(f'no reward "{name}"', seen=name, do=nearest(name, REWARDS))
    return REWARDS[name]


def smoothed(rewards: Sequence[float | None]) -> list[float | None]:
    """The rewards of one group as z-scores, clipped: one lucky kernel does not drown the others.

    None stays None and counts for nothing. A group that earned alike gives zeros, and one that
    earned nearly alike little more: ``TELLING``.
    """
    known = [reward for reward in rewards if reward is not None]
    centre = statistics.fmean(known) if known else 0.0
    spread = max(TELLING, statistics.pstdev(known) if known else 0.0)
    return [None if r is None else max(-LIMIT, min(LIMIT, (r - centre) / spread)) for r in rewards]


def returns(rewards: Sequence[float | None]) -> list[float | None]:
    """What each turn of a conversation is worth: its own reward, and discounted those that came
    after it. None stays None and adds nothing to others."""
    found: list[float | None] = []
    later = 0.0
    for earned in reversed(rewards):
        later = (earned or 0.0) + DISCOUNT * later
        found.append(None if earned is None else later)
    return found[::-1]


def jumps(speedup: Ratio | None, best: float) -> bool:
    """Whether a speedup is so far above the ``best`` so far that it must be measured again."""
    return speedup is not None and speedup.low > JUMP * max(best, 1.0)


def _is_blameless(judged: Judged) -> bool:
    found = judged.evaluation
    is_machine = found is not None and found.status is Status.INFRA_ERROR
    return is_machine or judged.fault is not None


def _is_earned(judged: Judged) -> bool:
    """Right, of its own making, and not a call of the library where that is known."""
    verdicts = [found for found in (judged.evaluation, judged.again) if found is not None]
    is_right = bool(verdicts) and all(found.passed for found in verdicts)
    return is_right and not judged.is_copy and all(found.is_own for found in verdicts)


def _lowest(judged: Judged, baseline: str = "") -> float:
    """The lower end against one baseline, or each verdict's strongest, the lowest of all verdicts;
    0 where it was not timed."""
    verdicts = (judged.evaluation, judged.again)
    timings = [found.timing for found in verdicts if found is not None and found.timing is not None]
    named = [(timing, baseline or timing.strongest) for timing in timings]
    lows = [timing.speedups[name].low for timing, name in named if name in timing.speedups]
    return min(lows, default=0.0)
