"""Whose code did the work, from a profile: what a loaded machine adds is nobody's."""

import pytest

from kernelwright.judge.kinds.kinds import _shares
from kernelwright.judge.kinds.sampling import LARGE_SHARE

RELU = {"kernels": [], "operators": [("aten::relu", 12_000)]}


@pytest.mark.parametrize("wall_ns", [20_000, 900_000])
def test_waiting_in_a_profiled_call_is_no_work_of_its_own(wall_ns):
    own, library = _shares({**RELU, "wall_ns": wall_ns}, "", timed_ns=14_000)
    assert own < LARGE_SHARE < library


def test_many_small_operators_beside_own_work_are_paid_by_the_profiler():
    told = {"kernels": [], "operators": [("aten::empty", 500)] * 10, "wall_ns": 182_000}
    own, _ = _shares(told, "", timed_ns=100_000)
    assert own > LARGE_SHARE


def test_what_no_operator_explains_is_own_work():
    own, _ = _shares({**RELU, "wall_ns": 900_000}, "", timed_ns=880_000)
    assert own > 0.9
