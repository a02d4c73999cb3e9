"""Why a candidate's results are wrong, where one more call shows it.

Without it, the author of a kernel that keeps what it made of other weights would look for the fault
in the arithmetic.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import partial
from typing import Any

import torch

from kernelwright.core.outcome import Status
from kernelwright.judge.checks import OWN_WEIGHTS, TASK, Draw
from kernelwright.judge.compare.expected import USELESS
from kernelwright.judge.compare.measures import as_real, furthest
from kernelwright.judge.compare.operators import Rounding
from kernelwright.judge.perturb.weight_sets import USUAL
from kernelwright.judge.reference.lowered import RoundedConvolutions
from kernelwright.judge.reference.nudges import widen
from kernelwright.judge.reference.oracle import Oracle
from kernelwright.judge.reference.widened import OTHER_IN_FLOAT64
from kernelwright.judge.refusal import FAILURES, Refused
from kernelwright.judge.sandbox.layout import map_tensors
from kernelwright.judge.verify.verification import LOAD_LIMIT_S, Turn, Verification

ROUNDING_DECIDES = (
    "rounding decides these results: the reference's own move by more than a quarter of a row's "
    "largest value when {}, so another order of summation is enough to be refused"
)
OPERATORS = "its operators round otherwise"
CONVOLUTIONS = "its convolutions round to TF32, which the library may take unless fp32 is asked for"
N_ROUNDINGS = 2
"""Runs in which the reference's operators round by chance: one with all numbers of a tensor alike,
and one with each for itself."""
KEEPS = "it is right with the weights that it was {} with: what it keeps of weights must follow"
MODES = {True: "training", False: "evaluation"}


def with_cause(refused: Refused, draw: Draw, verification: Verification, turn: Turn) -> Refused:
    """The refusal of one of the first two checks, with its cause if one is found.

    The first has the module's own weights, loaded after others; the second has those others, with
    which the candidate was called before. A kernel that keeps something of its weights is right
    with the earlier ones on the same inputs.
    """
    cause = ""
    if refused.status is Status.WRONG_VALUES:
        with contextlib.suppress(Refused):  # a candidate that dies explains nothing
            cause = _cause(draw, verification, turn)
    detail = "; ".join(filter(None, (refused.detail, cause)))
    return Refused(refused.code, detail, place=refused.place)


def _cause(draw: Draw, verification: Verification, turn: Turn) -> str:
    oracle = verification.oracle
    mode = oracle.forward.modules[USUAL].training
    was = verification.runner.set_mode(mode)
    if was != mode and _is_right(draw, verification, turn):
        said = f"it is in {MODES[was]} mode when it is made, and the task's module in"
        return f"{said} {MODES[mode]} mode, in which it is right"
    if decided := decided_by_rounding(oracle, draw):
        return decided
    if not oracle.profile.has_weights:
        return ""
    is_own = draw.check is OWN_WEIGHTS
    earlier = Draw(TASK if is_own else OWN_WEIGHTS, draw.seed)
    met = "first called" if is_own else "made"
    return KEEPS.format(met) if _is_right(earlier, verification, turn) else ""


def _is_right(draw: Draw, verification: Verification, turn: Turn) -> bool:
    """Whether one more call gives what is expected; False where the reference has no answer, with
    which nothing can be compared."""
    verification.runner.load(verification.oracle.state(USUAL), limit_s=LOAD_LIMIT_S)
    try:
        return bool(verification.run(draw, turn))
    except Refused:
        return False


def decided_by_rounding(oracle: Oracle, draw: Draw) -> str:
    """Say that the reference's results are others when it rounds otherwise; empty if they are not,
    or if its own digits were not asked for. Random numbers part a reference from float64 too."""
    arguments = oracle.inputs.kept(draw)
    expected = oracle.expectations.of(draw, arguments)
    if expected is None or OTHER_IN_FLOAT64 not in expected.warnings:
        return ""
    wide = map_tensors(widen, arguments)
    with contextlib.suppress(*FAILURES, MemoryError):  # then nothing is said
        exact = oracle.forward.in_float64(draw.weights, wide)
        if exact is None:
            return ""
        for when, found in _rounded_otherwise(oracle, draw, arguments, wide):
            if furthest(exact, found) > USELESS:
                return ROUNDING_DECIDES.format(when)
    return ""


def _rounded_otherwise(
    oracle: Oracle, draw: Draw, arguments: list[Any], wide: list[Any]
) -> Iterator[tuple[str, list[torch.Tensor]]]:
    """Yield results of the reference whose operators, or whose convolutions alone, round in another
    way, and the words for it."""
    forward, equal_terms = oracle.forward, draw.check.tolerance.equal_terms
    for seed in range(N_ROUNDINGS):
        watch = partial(Rounding, seed, alike=seed == 0, equal_terms=equal_terms)
        found = forward.in_float64(draw.weights, wide, watch=watch)
        if found is not None:
            yield OPERATORS, found
    if oracle.profile.may_round_to_tf32:
        with RoundedConvolutions():
            found = as_real(forward.run(arguments, draw.weights))
        yield CONVOLUTIONS, found
