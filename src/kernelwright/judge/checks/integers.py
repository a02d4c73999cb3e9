"""Checks that change integers, masks and Python numbers among the inputs."""

from __future__ import annotations

from collections.abc import Collection

from kernelwright.core.outcome import WarningCode
from kernelwright.judge.checks.check import Check, Tolerance, WarnOnly
from kernelwright.judge.compare.outputs import Expected
from kernelwright.judge.perturb.variation import colliding, other_numbers, resampled, skewed
from kernelwright.judge.profile import TaskProfile

MOST_COLLIDING = 4
"""Arguments whose integers are made equal to others, one after the other."""


def _never_change(profile: TaskProfile, expected: Expected, warned: Collection[Check]) -> bool:
    """Integers that the task draws anew may have a form that new ones lack; those that never
    change must be read all the same."""
    return any(profile.inputs.fixed_integers)


def _have_no_form(profile: TaskProfile, expected: Expected, warned: Collection[Check]) -> bool:
    """A candidate that is right on resampled integers does not rely on a form that they have."""
    return _never_change(profile, expected, warned) or RESAMPLED not in warned


RESAMPLED = Check(
    "integers",
    "knows integers or masks by heart that are the same in every draw of the task",
    resampled,
    applies=lambda profile: profile.inputs.has_integers,
    n_turns=lambda profile: 2,  # a few of a mask's numbers turn, then many
    policy=WarnOnly(
        WarningCode.DIFFERS_RESAMPLED, "differs when integer inputs are resampled", _never_change
    ),
    zoo=(
        "first_place_unread",
        "gathered_from_the_first",
        "gathered_rows_unread",
        "given_positions_unread",
        "knows_few_offsets",
        "knows_the_offsets",
        "length_unread",
        "lengths_unread",
        "mask_never_read",
        "mask_unread",
        "offsets_of_the_first_row",
        "ones_unread",
        "packed_as_if_equal",
        "page_table_unread",
        "rotary_cached_unread",
        "rows_of_a_table_unread",
        "slots_unread",
    ),
)
INTEGERS = (
    RESAMPLED,
    Check(
        "skewed",
        "relies on balanced integers, as the same number of words for each expert",
        skewed,
        applies=lambda profile: profile.inputs.can_skew,
        policy=WarnOnly(
            WarningCode.DIFFERS_SKEWED, "differs when integer inputs are skewed", _have_no_form
        ),
        place="where integers are skewed (half of the places hold one of the task's own)",
        zoo=(
            "edges_of_one_cap",
            "experts_of_one_capacity",
            "places_of_one_share",
            "ten_of_a_number",
        ),
    ),
    Check(
        "index_collisions",
        "leaves out what happens when integers are equal, as a padding index or repeated indices",
        colliding,
        applies=lambda profile: profile.inputs.n_collisions > 0,
        n_turns=lambda profile: min(profile.inputs.n_collisions, MOST_COLLIDING),
        place="where some integers are what the reference compares them with",
        zoo=(
            "bags_with_padding",
            "letters_that_follow_themselves",
            "never_guessed",
            "none_tells_itself",
            "padding_counted",
            "rows_never_twice",
        ),
    ),
)
NUMBERS = Check(
    "numbers",
    "ignores a Python float among the arguments",
    other_numbers,
    applies=lambda profile: profile.inputs.has_numbers,
    tolerance=Tolerance(may_be_random=True),
    zoo=("ignores_options", "knows_the_numbers", "zero_unread"),
)
