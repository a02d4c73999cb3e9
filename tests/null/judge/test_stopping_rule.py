"""How many rounds are measured, and that stopping early does not flatter the interval."""

import random

import pytest

from kernelwright.core.evaluation import CONFIDENCE, median_ratio
from kernelwright.core.standing import Standing
from kernelwright.judge.timing.stopping_rule import (
    HOPELESS_ROUNDS,
    MAX_ROUNDS,
    MIN_ROUNDS,
    UNDECIDED,
    is_enough,
)

N_RUNS = 1200
N_ROUNDS_PER_BUDGET = 200


def measured(draw, noise, outliers):
    """The ratios of a kernel against itself, until it is enough."""

    def time():
        slow = 1 + 3 * draw.random() if draw.random() < outliers else 1
        return slow * draw.lognormvariate(0, noise)

    ratios = []
    while not is_enough(ratios, len(ratios), N_ROUNDS_PER_BUDGET):
        ratios.append(time() / time())
    return ratios


@pytest.mark.parametrize("outliers", [0, 0.1])
@pytest.mark.parametrize("noise", [0.002, 0.02, 0.03, 0.05])
def test_a_kernel_against_itself_contains_one_at_the_stated_rate(noise, outliers):
    draw = random.Random(1)
    spans = [median_ratio(measured(draw, noise, outliers)) for _ in range(N_RUNS)]
    share = sum(span.low <= 1 <= span.high for span in spans) / N_RUNS
    # Three standard errors of the share, and half a percent for stopping at a checkpoint.
    assert share > CONFIDENCE - 3 * (0.05 * 0.95 / N_RUNS) ** 0.5 - 0.005


def test_quiet_series_end_soon_and_noisy_ones_with_the_rounds_or_the_budget():
    draw = random.Random(1)
    assert len(measured(draw, 0.001, 0)) == MIN_ROUNDS
    noisy = [2 * draw.lognormvariate(0, 0.3) for _ in range(MAX_ROUNDS)]
    assert is_enough(noisy, spent_s=1.0, budget_s=1.5)
    assert not is_enough(noisy[:-1], spent_s=1.0, budget_s=1.5)
    assert is_enough(noisy[:28], spent_s=2.0, budget_s=1.5)
    assert not is_enough(noisy[: MIN_ROUNDS - 1], spent_s=2.0, budget_s=1.5)


def test_more_time_is_spent_where_it_is_undecided_whether_the_library_is_beaten():
    close = [0.8, 1.3] * (UNDECIDED * MAX_ROUNDS // 2)
    assert not is_enough(close[:MAX_ROUNDS], spent_s=1.0, budget_s=1.5)
    assert not is_enough(close[:MIN_ROUNDS], spent_s=2.0, budget_s=1.5)
    assert is_enough(close[:MIN_ROUNDS], spent_s=1.5 * UNDECIDED + 0.1, budget_s=1.5)
    assert is_enough(close, spent_s=1.0, budget_s=1.5)
    lost = [0.9, 0.95] * (MAX_ROUNDS // 2)
    assert is_enough(lost, spent_s=1.0, budget_s=1.5)


def test_looking_longer_at_an_undecided_kernel_makes_few_winners_by_luck():
    draw = random.Random(1)
    spans = [median_ratio(measured(draw, 0.2, 0)) for _ in range(N_RUNS)]
    n_won = sum(span.standing is Standing.FASTER for span in spans)
    assert n_won / N_RUNS < 0.05, "one end of an interval of 95 % misses in 2.5 % of single looks"


def test_a_hopeless_candidate_is_not_measured_closely():
    assert is_enough([0.5, 0.6, 0.4, 0.7, 0.5, 0.8], spent_s=0.0, budget_s=1.5)
    assert not is_enough([0.5] * (HOPELESS_ROUNDS - 1), spent_s=0.0, budget_s=1.5)
