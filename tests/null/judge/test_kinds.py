"""Whose code did the work, from a profile: what a loaded machine adds is nobody's."""

import pytest

from kernelwright.judge.kinds.kinds import own_share
from kernelwright.judge.kinds.reports import Profile, read
from kernelwright.judge.kinds.sampling import LARGE_SHARE


def relu(wall_ns):
    return Profile(wall_ns, [("aten::relu", 12_000)], [])


@pytest.mark.parametrize("wall_ns", [20_000, 900_000])
def test_waiting_in_a_profiled_call_is_no_work_of_its_own(wall_ns):
    own = own_share(relu(wall_ns), "", timed_ns=14_000)
    assert own < LARGE_SHARE < 1 - own


def test_many_small_operators_beside_own_work_are_paid_by_the_profiler():
    profile = Profile(182_000, [("aten::empty", 500)] * 10, [])
    assert own_share(profile, "", timed_ns=100_000) > LARGE_SHARE


def test_what_no_operator_explains_is_own_work():
    assert own_share(relu(900_000), "", timed_ns=880_000) > 0.9


@pytest.mark.parametrize(
    "said",
    [
        None,
        {},
        {"wall_ns": "long", "operators": [], "kernels": []},
        {"wall_ns": 5, "operators": [["aten::relu"]], "kernels": []},
        {"wall_ns": float("nan"), "operators": [], "kernels": []},
        {"wall_ns": 5, "operators": [], "kernels": [["k", 10**400]]},
    ],
)
def test_nonsense_is_no_profile(said):
    assert read(Profile, said) is None


def test_a_profile_is_read_from_what_json_gives():
    said = {"wall_ns": 5, "operators": [["aten::relu", 2.5]], "kernels": []}
    assert read(Profile, said) == Profile(5.0, [("aten::relu", 2.5)], [])
