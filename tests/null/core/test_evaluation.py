import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.core.candidate import Candidate
from kernelwright.core.evaluation import CONFIDENCE, Environment, Evaluation, Timing, median_ratio
from kernelwright.core.outcome import Reason, ReasonCode, Status
from kernelwright.core.task import Task

POSITIVE = st.floats(0.01, 100.0)


@given(st.lists(POSITIVE, min_size=1, max_size=40))
def test_interval_holds_its_median_and_stays_inside_the_data(ratios):
    ratio = median_ratio(ratios)
    assert min(ratios) <= ratio.low <= ratio.median <= ratio.high <= max(ratios)


@given(st.lists(POSITIVE, min_size=5, max_size=40), st.floats(0.1, 10.0))
def test_interval_scales_with_the_data(ratios, factor):
    plain, scaled = median_ratio(ratios), median_ratio([r * factor for r in ratios])
    assert scaled.median == pytest.approx(plain.median * factor)
    assert scaled.low == pytest.approx(plain.low * factor)


@pytest.mark.parametrize("n", [6, 7, 8, 15, 40, 80])
def test_the_interval_holds_the_true_median_at_the_stated_rate(n):
    draw = random.Random(n)
    spans = [median_ratio([draw.lognormvariate(0, 0.1) for _ in range(n)]) for _ in range(3000)]
    assert sum(span.low <= 1 <= span.high for span in spans) / len(spans) > CONFIDENCE - 0.012


def test_few_ratios_give_their_whole_range():
    ratio = median_ratio([3.0, 1.0, 2.0])
    assert (ratio.low, ratio.median, ratio.high) == (1.0, 2.0, 3.0)


def test_speedup_pairs_rounds_and_skips_what_was_not_measured():
    timing = Timing({"candidate": (10, 10, 20), "eager": (20, None, 60)}, "eager", "parent", "cold")
    assert timing.speedup("eager").median == 2.5


def test_single_calls_are_compared_with_the_library_setting_that_starts_first():
    samples = {"candidate": (10, 10), "eager": (20, 20), "compile": (15, 15)}
    timing = Timing(samples, "compile", "parent", "cold")
    assert timing.single_speedup is None
    single_ns = {"candidate": (400, 500, 600), "eager": (250, 250, 900), "compile": (450,) * 3}
    assert replace(timing, latency_ns=single_ns).single_speedup == 0.5


def evaluation(**changes):
    fields = {
        "task": "t", "workload": "w", "candidate": "c", "status": Status.PASSED, "reasons": (),
        "environment": Environment("cpu", {}), "seed": 1, "judge_version": 1,
    }  # fmt: skip
    return Evaluation(**(fields | changes))


def test_a_failed_candidate_has_a_reason_and_no_time():
    timing = Timing({"candidate": (1,), "eager": (1,)}, "eager", "parent", "cold")
    with pytest.raises(ValueError, match="timing"):
        evaluation(
            status=Status.WRONG_VALUES,
            reasons=(Reason(ReasonCode.OUTPUT_VALUES, "off by one"),),
            timing=timing,
        )
    with pytest.raises(ValueError, match="reasons"):
        evaluation(status=Status.WRONG_VALUES)
    with pytest.raises(ValueError, match="reasons"):
        evaluation(reasons=(Reason(ReasonCode.UNCLASSIFIED, "passed, but"),))


def test_identity_is_content():
    assert Candidate("x", "cpp").digest == Candidate("x", "cpp").digest
    assert Candidate("x", "cpp").digest != Candidate("x", "torch").digest
    assert Task("a", "module", "s").digest == Task("b", "kernelbench", "s").digest
    assert Task("a", "module", "s", payload=b"1").digest != Task("a", "module", "s").digest
