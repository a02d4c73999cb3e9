"""Why a candidate's results are wrong, where one more call shows it.

Without it, the author of a kernel that keeps what it made of other weights would look for the fault
in the arithmetic.
"""

from __future__ import annotations

import contextlib

from kernelwright.core.outcome import Status
from kernelwright.judge.checks import OWN_WEIGHTS, TASK, Draw
from kernelwright.judge.perturb.weight_sets import USUAL
from kernelwright.judge.refusal import Refused
from kernelwright.judge.verify.verification import LOAD_LIMIT_S, Turn, Verification

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
    if not oracle.profile.has_weights:
        return ""
    is_own = draw.check is OWN_WEIGHTS
    earlier = Draw(TASK if is_own else OWN_WEIGHTS, draw.seed)
    met = "first called" if is_own else "made"
    return KEEPS.format(met) if _is_right(earlier, verification, turn) else ""


def _is_right(draw: Draw, verification: Verification, turn: Turn) -> bool:
    verification.runner.load(verification.oracle.state(USUAL), limit_s=LOAD_LIMIT_S)
    try:
        verification.run(draw, turn)
    except Refused:
        return False
    return True
