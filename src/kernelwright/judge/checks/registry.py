"""The registry: all checks, in the order in which a candidate meets them."""

from __future__ import annotations

from collections.abc import Collection

from kernelwright.core.outcome import WarningCode
from kernelwright.judge.checks.check import Check, Tolerance, WarnOnly
from kernelwright.judge.compare.expected import Expected
from kernelwright.judge.perturb import values
from kernelwright.judge.perturb.values import STRETCHES
from kernelwright.judge.perturb.variation import (
    by_value,
    colliding,
    other_numbers,
    resampled,
    skewed,
    special,
)
from kernelwright.judge.perturb.weight_sets import AS_MADE, LARGE, TOUCHED
from kernelwright.judge.profile import TaskProfile

MOST_COLLIDING = 4
"""Arguments whose integers are made equal to others, one after the other."""
MOST_HUGE = 3
"""Arguments that take a turn at having the largest outliers."""
EQUAL_TERMS = Tolerance(equal_terms=True)


def _never_change(profile: TaskProfile, expected: Expected, warned: Collection[Check]) -> bool:
    """Whether integers are the same in every draw. Integers that the task draws anew may have a
    form that the judge's lack; those that never change must be read all the same."""
    return any(profile.inputs.fixed_integers)


def _have_no_form(profile: TaskProfile, expected: Expected, warned: Collection[Check]) -> bool:
    """Whether the candidate relies on no form of the integers: it is right on resampled ones."""
    return _never_change(profile, expected, warned) or RESAMPLED not in warned


def _leaves_no_nan(profile: TaskProfile, expected: Expected, warned: Collection[Check]) -> bool:
    """Whether the reference asks for NaN and infinities, and leaves none."""
    is_clean = not any(bool(one.exact.isnan().any()) for one in expected.outputs)
    return profile.asks_for_specials and is_clean


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
CONDITIONED = Check(
    "ill_conditioned",
    "takes a few steps towards a solution that is near where it starts",
    by_value(values.conditioned),
    applies=lambda profile: profile.work.factorises,
    zoo=("ridge_by_steps", "steps_for_a_solution"),
)
VALUES = (
    Check(
        "centred",
        "takes inputs to be positive, where ReLU is the identity and sums hide their rounding",
        by_value(values.centred),
    ),
    Check(
        "shifted",
        "computes a variance as E[x²]-E[x]²",
        by_value(values.shifted),
        tolerance=EQUAL_TERMS,
    ),
    Check(
        "huge",
        "leaves out the maximum of a softmax, or another guard against overflow",
        by_value(values.huge, stretches=STRETCHES),
        zoo=("energies_without_maximum",),
    ),
    Check(
        "outliers",
        "looks at a sample of its inputs to choose a shortcut",
        by_value(
            values.outliers,
            stretches=STRETCHES,
            instead=(values.ends_of_range, values.within_range),
            takes_turns=True,
        ),
        n_turns=lambda profile: min(profile.inputs.n_tensors, MOST_HUGE),
        tolerance=Tolerance(by_output=True),
        is_rare=True,
        zoo=(
            "certain_ones_unbounded",
            "guard_by_a_sample",
            "samples_its_inputs",
            "samples_second_input",
        ),
    ),
    Check(
        "large",
        "computes in float16",
        by_value(values.large),
        # On other tasks large inputs say little: products round by more than a softmax is wide.
        applies=lambda profile: profile.is_coarse,
        tolerance=Tolerance(choices_are_luck=True),
    ),
    Check(
        "below",
        "begins a maximum at zero",
        by_value(values.negative_slices),
        # Rows of one large number, or of zeros, leave a matrix too little rank to be taken apart.
        applies=lambda profile: not profile.work.factorises,
        tolerance=EQUAL_TERMS,
        zoo=("maxima_from_zero",),
    ),
    Check(
        "empty",
        "has no guard against rows of zeros",
        by_value(values.empty_slices),
        applies=lambda profile: not profile.work.factorises,
        tolerance=Tolerance(zeros_are_meant=True),
        policy=WarnOnly(
            WarningCode.DIFFERS_EMPTY,
            "treats rows of zeros in the inputs otherwise than the reference",
            lambda profile, expected, warned: profile.asks_for_zeros,
        ),
        place="on inputs with slices of zeros",
        zoo=("frames_of_padding_counted",),
    ),
    Check(
        "near_one",
        "leaves out products that vanish or overflow elsewhere",
        by_value(values.near_one),
        tolerance=EQUAL_TERMS,
    ),
    Check(
        "small",
        "gives zeros that would hide under an absolute tolerance",
        by_value(values.small),
        tolerance=EQUAL_TERMS,
    ),
    Check(
        "sparse",
        "relies on inputs without zeros",
        by_value(values.sparse),
        tolerance=EQUAL_TERMS,
        zoo=("cache_by_fingerprint",),
    ),
)
"""In the order of what they have caught; a slow reference is checked on the first ones."""
SPECIAL = Check(
    "special",
    "treats NaN and infinities in its inputs otherwise",
    special,
    answer_counts=True,
    policy=WarnOnly(
        WarningCode.DIFFERS_SPECIAL,
        "treats NaN or infinity in the inputs otherwise than the reference",
        _leaves_no_nan,
    ),
    place="on inputs with NaN and infinities",
    zoo=("leaves_the_gradient", "mean_with_nan"),
)

FAMILIES: dict[str, tuple[Check, ...]] = {
    "Own inputs": (OWN_WEIGHTS, TASK, OTHER_SHAPES),
    "Other weights": WEIGHTS,
    "Other integers": INTEGERS,
    "Ill-conditioned matrices": (CONDITIONED,),
    "Other Python numbers": (NUMBERS,),
    "Other floating-point inputs": VALUES,
    "NaN and infinities": (SPECIAL,),
}
REGISTRY = tuple(check for family in FAMILIES.values() for check in family)
CHECKS = {check.id: check for check in REGISTRY}
AFTER_OWN = tuple(check for check in REGISTRY if check not in FAMILIES["Own inputs"])
"""The checks that come after the task's own inputs and shapes."""
PLAIN = frozenset({TASK, *VALUES})
"""Checks on whose inputs calls are repeated, to see whether results repeat."""
