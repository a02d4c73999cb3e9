"""Verdicts come in order, some of them later, while profilers start."""

from collections import deque
from contextlib import nullcontext
from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from kernelwright.core.outcome import ReasonCode
from kernelwright.judge.pipeline import Pipeline


class Ready(Pipeline):
    """Concludes at once, and says of which candidate."""

    def __init__(self):
        pass

    def finish(self, prepared):
        prepared.is_starting = False
        return prepared.number


@given(st.lists(st.booleans(), max_size=12), st.integers(0, 3))
def test_verdicts_keep_their_order_and_wait_for_few_profilers(starting, most):
    waiting, found = deque(), []
    for number, is_starting in enumerate(starting):
        waiting.append(SimpleNamespace(number=number, is_starting=is_starting))
        found += Ready().finished(waiting, n_starting=most)
        assert sum(prepared.is_starting for prepared in waiting) <= most
        assert not waiting or waiting[0].is_starting
    found += Ready().finished(waiting)
    assert found == list(range(len(starting)))


class Faulty(Pipeline):
    """Fails by a fault of the judge's own; each kind stands on a line of its own."""

    def __init__(self):
        self._shown = set()
        self._oracle = SimpleNamespace(computing=nullcontext)

    def _check_and_time(self, prepared, max_time_s, *, is_first):
        if prepared.number % 2:
            raise KeyError("an odd one")
        raise ZeroDivisionError("an even one")


def prepared(number):
    verdict = SimpleNamespace(conclude=lambda reason: reason)
    return SimpleNamespace(
        number=number, error=None, found=None, verdict=verdict, close=lambda: None
    )


def test_a_fault_of_the_judges_own_is_shown_once_with_its_traceback(capsys):
    """Else a bug in a check looks like a bad machine for all of a search."""
    pipeline, candidates = Faulty(), [prepared(n) for n in range(6)]
    for candidate in candidates:
        pipeline.examine(candidate, 1.0)
    assert {c.found.code for c in candidates} == {ReasonCode.JUDGE_FAILED}
    assert "ZeroDivisionError: an even one" in candidates[0].found.detail
    out, err = capsys.readouterr()
    assert out == "" and err.count("Traceback") == 2
    assert err.count("ZeroDivisionError: an even one") == err.count("KeyError: 'an odd one'") == 1
    assert 'raise KeyError("an odd one")' in err and "please report" in err
