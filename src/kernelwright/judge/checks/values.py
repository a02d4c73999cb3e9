"""Checks that change floating-point inputs."""

from __future__ import annotations

from kernelwright.core.outcome import WarningCode
from kernelwright.judge.checks.check import Check, Tolerance, WarnOnly
from kernelwright.judge.perturb import values
from kernelwright.judge.perturb.values import STRETCHES
from kernelwright.judge.perturb.variation import by_value, with_stretches

MOST_HUGE = 3
"""Arguments that take a turn at having the largest outliers."""
EQUAL_TERMS = Tolerance(equal_terms=True)

STRUCTURE = (
    Check(
        "clustered",
        "samples pairs, or chooses among what is far apart",
        by_value(values.clustered),
        applies=lambda profile: profile.inputs.can_cluster,
        zoo=("distances_of_a_sample",),
    ),
    Check(
        "ill_conditioned",
        "takes a few steps towards a solution that is near where it starts",
        by_value(values.conditioned),
        applies=lambda profile: profile.work.factorises,
        zoo=("ridge_by_steps", "steps_for_a_solution"),
    ),
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
        with_stretches(values.huge),
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
        # Elsewhere large inputs say little: products round by more than a softmax is wide.
        applies=lambda profile: profile.is_coarse,
        tolerance=Tolerance(choices_are_luck=True),
    ),
    Check("negated", "holds for positive inputs only", by_value(values.negated)),
    Check(
        "below",
        "begins a maximum at zero",
        by_value(values.negative_slices),
        # Rows of one large number, or of zeros, leave a matrix too little rank to be taken apart.
        applies=lambda profile: not profile.work.factorises,
        tolerance=Tolerance(equal_terms=True, far_from_zero=True),
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
        "constant",
        "rounds to a narrow type, which averages out elsewhere",
        by_value(values.constant),
        tolerance=Tolerance(equal_terms=True, longest_sums=True),
    ),
    Check("one_hot", "drops terms or tiles", by_value(values.one_hot), tolerance=EQUAL_TERMS),
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
