"""Checks on numbers at the end of their type's range."""

from __future__ import annotations

from collections.abc import Collection

from kernelwright.core.outcome import WarningCode
from kernelwright.judge.checks.check import Check, WarnOnly
from kernelwright.judge.compare.outputs import Expected
from kernelwright.judge.perturb.variation import special
from kernelwright.judge.profile import TaskProfile


def _cleans_up(profile: TaskProfile, expected: Expected, warned: Collection[Check]) -> bool:
    """Whether the reference asks for NaN and infinities, and leaves none."""
    if not profile.asks_for_specials:
        return False
    return not any(bool(exact.isnan().any()) for exact in expected.exact)


SPECIAL = Check(
    "special",
    "treats NaN and infinities in its inputs otherwise",
    special,
    answer_counts=True,
    policy=WarnOnly(
        WarningCode.DIFFERS_SPECIAL,
        "treats NaN or infinity in the inputs otherwise than the reference",
        _cleans_up,
    ),
    place="on inputs with NaN and infinities",
    zoo=("leaves_the_gradient", "mean_with_nan"),
)
SPECIALS = (SPECIAL,)
