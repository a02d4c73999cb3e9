"""Who runs on while it is to stand still is refused, and whom the machine made late is not."""

import pytest

from kernelwright.judge.refusal import Refused
from kernelwright.judge.sandbox.stopping import LATE_NS, RanOn

LATE = LATE_NS + 1


def is_refused(n_calls, n_early=0, n_read_on=0):
    """Of so many calls the last ones are such."""
    ran_on = RanOn()
    for left in range(n_calls, 0, -1):
        try:
            done = n_calls - left + 1
            ran_on.count(done, LATE * (left <= n_early), LATE * (left <= n_read_on))
        except Refused as refused:
            assert refused.status == "tampered"
            return True
    return False


@pytest.mark.parametrize(("n_calls", "n_early"), [(2, 2), (60, 3), (400, 20)])
def test_now_and_then_a_kernel_tells_of_time_late(n_calls, n_early):
    # Seen on two GPUs under load: 14 of some thousands of calls, none twice in a child.
    assert not is_refused(n_calls, n_early)


@pytest.mark.parametrize(("n_calls", "n_early"), [(3, 3), (40, 4), (400, 21)])
def test_one_call_in_twenty_is_no_accident(n_calls, n_early):
    assert is_refused(n_calls, n_early)


def test_while_outputs_are_read_twice_is_too_often():
    assert not is_refused(1000, n_read_on=1) and is_refused(1000, n_read_on=2)
