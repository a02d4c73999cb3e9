"""Properties of the reward: only a faster correct kernel of the policy's own pays."""

import itertools
import math
import statistics
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.null.swarm.briefs import candidate, verdict

from kernelwright.core.errors import TaskError, UsageError
from kernelwright.core.evaluation import Ratio
from kernelwright.core.outcome import Status, Warned, WarningCode
from kernelwright.train import reward
from kernelwright.train.reward import Judged

NAMES = sorted(reward.REWARDS)
speeds = st.floats(0.01, 100)
bad = st.sampled_from([s for s in Status if s not in (Status.PASSED, Status.INFRA_ERROR)])
rewards = st.lists(st.one_of(st.none(), st.floats(-10, 10)), max_size=12)


def passed(speed=None, kinds=("kernel",), **said):
    return replace(verdict(candidate(), speed), kinds=kinds, **said)


def failed(status):
    return replace(verdict(candidate(), reason="no"), status=status)


def earned(name, evaluation, **said):
    return reward.find(name)(Judged(evaluation, **said))


@given(speeds, speeds)
def test_a_faster_kernel_never_earns_less(slow, fast):
    assume(slow <= fast)
    for name in NAMES:
        assert earned(name, passed(slow)) <= earned(name, passed(fast))


@given(st.floats(0.3, 4), st.floats(0.3, 4))
def test_by_speed_a_truly_faster_kernel_earns_more(one, other):
    assume(abs(math.log(one / other)) > 0.01)
    assert (one < other) == (earned("speed", passed(one)) < earned("speed", passed(other)))


@given(speeds, bad, st.booleans())
def test_no_failure_earns_as_much_as_any_success(speed, status, is_copy):
    for name in NAMES:
        assert earned(name, failed(status), is_copy=is_copy) < earned(name, passed(speed))
        assert earned(name, None) < earned(name, passed(speed))
        assert earned(name, failed(status)) < earned(name, passed())  # right and not timed


@given(speeds)
def test_a_copy_and_a_library_call_earn_less_than_the_slowest_kernel(speed):
    for name in NAMES:
        slowest = earned(name, passed(0.01))
        assert earned(name, passed(speed), is_copy=True) == earned(name, None) < slowest
        assert earned(name, passed(speed, kinds=("library",))) < slowest


@given(speeds)
def test_speed_earns_nothing_on_a_degenerate_task(speed):
    found = passed(speed, warnings=(Warned(WarningCode.DEGENERATE_TASK, "output 0 is constant"),))
    assert earned("speed", found) == earned("speed", passed(0.01))


def test_cheating_earns_less_than_being_wrong():
    tampered, rejected, wrong = (
        earned("speed", failed(s)) for s in (Status.TAMPERED, Status.REJECTED, Status.WRONG_VALUES)
    )
    assert tampered < rejected < wrong == earned("speed", None)


def test_a_fault_of_the_machine_is_neither_good_nor_bad():
    for name in NAMES:
        assert earned(name, failed(Status.INFRA_ERROR)) is None


def test_a_task_that_cannot_be_run_is_neither_good_nor_bad():
    fault = TaskError("the forward fails", seen="AttributeError", do="mend it")
    assert all(earned(name, None, fault=fault) is None for name in NAMES)


@given(speeds, speeds)
def test_a_jump_counts_by_the_lower_of_its_two_verdicts(first, second):
    both = earned("speed", passed(first), again=passed(second))
    assert both == earned("speed", passed(min(first, second)))
    assert earned("speed", passed(first), again=failed(Status.WRONG_VALUES)) == 0


def test_each_verdict_on_a_jump_is_read_against_its_own_strongest_setting():
    samples = {"candidate": (1000,) * 6, "eager": (3000,) * 6, "compile": (1500,) * 6}
    again = passed(1.5)
    again = replace(again, timing=replace(again.timing, strongest="compile", samples_ns=samples))
    first = passed(3.0)
    assert first.timing.strongest == "eager"
    assert earned("speed", first, again=again) == earned("speed", passed(1.5))


def test_noise_earns_nothing():
    """A wide interval around 3 earns as much as its lower end."""
    noisy = passed(3.0)
    samples = {"candidate": (1000,) * 6, "eager": (500, 3000, 3000, 3000, 3000, 9000)}
    noisy = replace(noisy, timing=replace(noisy.timing, samples_ns=samples))
    assert noisy.speedup.median == 3 and noisy.speedup.low == 0.5
    assert earned("speed", noisy) == earned("speed", passed(0.5))


@given(st.floats(0.1, 50), st.floats(0.1, 50))
def test_only_a_large_gain_over_best_and_library_is_measured_again(low, best):
    assert reward.jumps(Ratio(low, low, low), best) == (low > 1.5 * best and low > 1.5)


@given(rewards, st.floats(1, 10), st.floats(-5, 5))
def test_smoothing_is_invariant_to_scale_and_shift(earned, scale, shift):
    known = [e for e in earned if e is not None]
    assume(len(set(known)) < 2 or statistics.pstdev(known) > reward.TELLING)
    moved = [None if e is None else e * scale + shift for e in earned]
    assert reward.smoothed(moved) == pytest.approx(reward.smoothed(earned), abs=1e-5)


def test_nearly_equal_rewards_have_little_effect():
    """All are correct and 1.00 to 1.04 times as fast, so the rewards should stay small."""
    alike = [earned("speed", passed(s)) for s in (1.0, 1.01, 1.02, 1.04)]
    apart = [earned("speed", passed(s)) for s in (0.7, 1.0, 1.3, 1.5)]
    mixed = [*alike[:2], 0.0, 0.0]
    assert max(map(abs, reward.smoothed(alike))) < 0.25
    assert min(max(map(abs, reward.smoothed(each))) for each in (apart, mixed)) >= 0.99


@given(rewards)
def test_smoothing_keeps_order_and_limits(earned):
    smooth = reward.smoothed(earned)
    assert [e is None for e in smooth] == [e is None for e in earned]
    pairs = sorted((e, s) for e, s in zip(earned, smooth, strict=True) if e is not None)
    assert all(-1.5 <= s <= 1.5 for _, s in pairs)
    assert all(a[1] <= b[1] + 1e-9 for a, b in itertools.pairwise(pairs))


def test_milestones():
    assert [earned("milestone", passed(s)) for s in (0.5, 1.5)] == [1, 2]
    found = passed(1.5)
    samples = found.timing.samples_ns
    both = {**samples, "compile": samples["eager"]}
    assert earned("milestone", replace(found, timing=replace(found.timing, samples_ns=both))) == 3


def test_an_unknown_reward_names_the_nearest():
    with pytest.raises(UsageError, match="speed"):
        reward.find("sped")


groups = st.lists(
    st.one_of(
        st.floats(0.1, 10).map(lambda speed: Judged(passed(speed))),
        bad.map(lambda status: Judged(failed(status))),
        st.just(Judged(None)),
        st.just(Judged(None, fault=TaskError("no", seen="x", do="y"))),
    ),
    min_size=1,
    max_size=10,
)


@given(groups)
def test_in_parts_a_group_gains_nothing_on_average(group):
    found = [a for a in reward.in_parts(group) if a is not None]
    logs = [abs(math.log(j.evaluation.speedup.low)) for j in group if reward.by_speed(j) is not None
            and j.evaluation is not None and j.evaluation.passed]  # fmt: skip
    assume(not logs or max(logs) < reward.LIMIT / 2)  # no part is cut
    assert sum(found) == pytest.approx(0, abs=1e-6)
    assert [a is None for a in reward.in_parts(group)] == [j.fault is not None for j in group]


@given(groups)
def test_in_parts_a_correct_kernel_is_never_worse_than_a_wrong_one_unless_it_is_much_slower(group):
    pairs = [(j, a) for j, a in zip(group, reward.in_parts(group), strict=True) if a is not None]
    wrong = [a for j, a in pairs if j.evaluation is None or not j.evaluation.passed]
    right = [a for j, a in pairs if j.evaluation is not None and j.evaluation.passed]
    if wrong and len(right) < len(pairs) / 2:
        assert min(right, default=math.inf) > max(wrong)


def test_in_parts_noise_teaches_little_and_speed_counts_only_among_correct_kernels():
    noise = reward.in_parts([Judged(passed(s)) for s in (1.0, 1.01, 0.99)])
    assert max(map(abs, noise)) < 0.02  # as z-scores they would be 1.2
    fast, slow, wrong = reward.in_parts([Judged(passed(2.0)), Judged(passed(1.0)), Judged(None)])
    assert fast - slow == pytest.approx(math.log(2)) and wrong < slow
    degenerate = (Warned(WarningCode.DEGENERATE_TASK, ""),)
    alike = [Judged(passed(speed, warnings=degenerate)) for speed in (1.0, 100.0)]
    assert reward.in_parts(alike) == [0, 0]
    few = reward.in_parts([Judged(passed(2.0)), Judged(None), Judged(None)])
    assert few == pytest.approx([2 / 3, -1 / 3, -1 / 3])
