"""Why a candidate's results are wrong, where one more call tells. Without it, who keeps what was
made of other weights would look for his fault in the arithmetic."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from kernelwright.core.evaluation import Status
from kernelwright.judge.children.runner import Call
from kernelwright.judge.perturb.draws import OWN_WEIGHTS, TASK, Draw
from kernelwright.judge.reference.check import LOAD_LIMIT_S, Check
from kernelwright.judge.refusal import Refused

KEEPS = "it is right with the weights that it was {} with: what it keeps of weights must follow"
MODES = {True: "training", False: "evaluation"}


def with_cause(refused: Refused, draw: Draw, check: Check, turn: Callable[..., Call]) -> Refused:
    """The refusal of one of the first two checks, with its cause if one is found.

    The first has the module's own weights, loaded after others; the second has those others, with
    which the candidate was called before. What a kernel keeps shows where it is right with the
    earlier ones on the same inputs.
    """
    cause = ""
    if refused.status is Status.WRONG_VALUES:
        with contextlib.suppress(Refused):  # it died, say: that explains nothing
            cause = _cause(draw, check, turn)
    return Refused(refused.status, "; ".join(filter(None, (refused.reason, cause))))


def _cause(draw: Draw, check: Check, turn: Callable[..., Call]) -> str:
    oracle = check.oracle
    mode = oracle.modules[TASK].training
    was = check.runner.set_mode(mode)
    if was != mode and _is_right(draw, check, turn):
        said = f"it is in {MODES[was]} mode when it is made, and the task's module in"
        return f"{said} {MODES[mode]} mode, in which it is right"
    if not oracle.has_weights:
        return ""
    earlier = Draw(TASK if draw.weights == OWN_WEIGHTS else OWN_WEIGHTS, draw.seed)
    met = {OWN_WEIGHTS: "made", TASK: "first called"}[earlier.weights]
    return KEEPS.format(met) if _is_right(earlier, check, turn) else ""


def _is_right(draw: Draw, check: Check, turn: Callable[..., Call]) -> bool:
    check.runner.load(check.oracle.state(TASK), limit_s=LOAD_LIMIT_S)
    try:
        check.run(draw, turn)
    except Refused:
        return False
    return True
