"""Library settings before they are timed: they have begun, and their compiler has done its work."""

from __future__ import annotations

import concurrent.futures
import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import Future

from kernelwright.core.outcome import ReasonCode, Status
from kernelwright.judge.checks import TASK, Draw, derive_seed
from kernelwright.judge.children.runner import Runner
from kernelwright.judge.children.turns import Turns
from kernelwright.judge.preparation import FIRST_CALL_LIMIT_S
from kernelwright.judge.reference.oracle import Oracle
from kernelwright.judge.refusal import Refused

MOST_DRAWS = 5
"""Inputs for which, one after the other, something may be compiled. A number in the code is taken
for a constant at first, and for a variable when it changes: that is settled with the second."""
Starting = dict[str, Future[Runner]]
"""Settings, by name."""


def wait_for(starting: Starting, start: Callable[[str], Runner], turns: Turns) -> None:
    """Return when all have started or failed. Those that gave no answer in time are started once
    more, while nobody builds: candidates that are built may leave them no core."""
    concurrent.futures.wait(starting.values())
    if late := [name for name, future in starting.items() if _was_late(future)]:
        with turns.alone():
            for name in late:
                starting[name] = future = Future()
                try:
                    future.set_result(start(name))
                except Refused as refused:
                    future.set_exception(refused)


def _was_late(future: Future[Runner]) -> bool:
    error = None if future.cancelled() else future.exception()
    return isinstance(error, Refused) and error.status is Status.TIMEOUT


@contextlib.contextmanager
def closed_if_refused(runner: Runner) -> Iterator[None]:
    """End a setting that fails in here: its compiler would go on beside what is timed."""
    try:
        yield
    except Refused:
        runner.close()
        raise


def warm_up(runner: Runner, oracle: Oracle, turns: Turns) -> bool:
    """Call a compiled setting on other inputs of the task's own until nothing is compiled for them;
    whether anything was. The compiler's own count tells: nobody who starves it makes it higher.

    Raises:
        Refused: it does not run on them, or is compiled for every one of them; it has ended.
    """
    with closed_if_refused(runner):
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
        raise Refused(ReasonCode.KEEPS_COMPILING, why)
