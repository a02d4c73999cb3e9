"""Verdicts come in order, some of them later, while profilers start."""

from collections import deque
from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from kernelwright.judge.verdicts import Verdicts


class Ready(Verdicts):
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
