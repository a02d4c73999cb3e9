"""Checks on the task's own inputs, with other weights."""

from __future__ import annotations

from kernelwright.judge.checks.check import Check, Tolerance
from kernelwright.judge.perturb.weight_sets import AS_MADE, LARGE, SMALL, TOUCHED

OWN_WEIGHTS = Check(
    "weights",
    "keeps what it has worked out from the weights with which it was first called",
    weights=AS_MADE,
    applies=lambda profile: profile.has_weights,
    zoo=("dequantises_once", "packed_codes_of_the_first_call"),
)
"""The weights that the module was made with: all other calls have weights that nobody has seen."""

TASK = Check(
    "task",
    "is wrong on the task's own inputs, or right only for the weights that initialisers leave, "
    "as scales of one and biases of zero",
    zoo=(
        "gelu_by_sigmoid",
        "level_shares_of_half",
        "moved_to_loading",
        "other_numbers",
        "quantise_by_truncation",
    ),
)

OTHER_SHAPES = Check(
    "other_shapes",
    "is right for the timed shapes only, where the task declares others",
    applies=lambda profile: bool(profile.shapes),
)

WEIGHTS = (
    Check(
        "touched",
        "samples a few weights to recognise those that it knows",
        weights=TOUCHED,
        applies=lambda profile: TOUCHED in profile.weight_sets,
        place="when some numbers of each weight have changed",
        zoo=("merged_by_a_sample",),
    ),
    Check(
        "small_weights",
        "relies on weights of one value, as decays, being of the size that they were made with",
        weights=SMALL,
        applies=lambda profile: SMALL in profile.weight_sets,
        place="on weights of which single numbers are small",
        zoo=("decay_cut_off",),
    ),
    Check(
        "large_weights",
        "is right for small values behind a norm only, as a softmax without its maximum",
        weights=LARGE,
        applies=lambda profile: LARGE in profile.weight_sets,
        tolerance=Tolerance(by_output=True),
        place="on large weights",
        zoo=(
            "first_share_is_positive",
            "logits_without_maximum",
            "maximum_left_out_beside",
            "slope_below_one",
            "softcap_by_series",
        ),
    ),
)
