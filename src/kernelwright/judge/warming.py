"""Compiled library settings before they are timed: their compiler must have done its work."""

from __future__ import annotations

from kernelwright.core.evaluation import Status
from kernelwright.judge.children.runner import Runner
from kernelwright.judge.children.turns import Turns
from kernelwright.judge.inputs.draws import TASK, Draw, derive_seed
from kernelwright.judge.preparation import FIRST_CALL_LIMIT_S
from kernelwright.judge.reference.oracle import Oracle
from kernelwright.judge.refusal import Refused

MOST_DRAWS = 5
"""Inputs for which, one after the other, something may be compiled. A number in the code is taken
for a constant at first, and for a variable when it changes: that is settled with the second."""


def warm_up(runner: Runner, oracle: Oracle, turns: Turns) -> bool:
    """Call a compiled setting on other inputs of the task's own until nothing is compiled for them;
    whether anything was. The compiler's own count tells: nobody who starves it makes it higher.

    Raises:
        Refused: it does not run on them, or is compiled for every one of them; it has ended.
    """
    try:
        with runner.beside(turns):
            n_graphs = runner.n_graphs()
        for number in range(MOST_DRAWS):
            draw, n_before = Draw(TASK, derive_seed(oracle.secret, "warming", number)), n_graphs
            with runner.beside(turns):
                runner.put(oracle.arguments(draw))
                runner.call(limit_s=FIRST_CALL_LIMIT_S, take=False, may_be_long=True)
                runner.release()
                n_graphs = runner.n_graphs()
            if n_graphs == n_before:
                return number > 0
        why = f"it compiles anew for other inputs: for {MOST_DRAWS} of them one after the other"
        raise Refused(Status.TIMEOUT, why)
    except Refused:
        runner.close()
        raise
