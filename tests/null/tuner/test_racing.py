"""Races: the slower half drops out, and what others are compared with stays."""

import random

from kernelwright.tuner.racing import quartile_interval, race, typical_ns


def test_the_fastest_arms_get_most_of_the_calls():
    times = {f"arm {number}": 100.0 + number for number in range(16)}
    samples = race(list(times), times.__getitem__)
    counts = [len(samples[arm]) for arm in times]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > 4 * counts[-1]


def test_an_arm_that_is_far_behind_drops_out_at_once_unless_others_are_compared_with_it():
    times = {"fast": 1.0, "slow": 50.0, "reference": 100.0}
    samples = race(list(times), times.__getitem__, kept=["reference"])
    assert len(samples["slow"]) < len(samples["reference"]) == len(samples["fast"])


def test_calls_that_were_interrupted_do_not_decide():
    assert typical_ns([1.0, 1.1, 90.0, 1.2, 80.0]) == 1.1


def test_the_interval_of_a_time_holds_the_lower_quartile_at_its_rate():
    draw, true, n_held = random.Random(0), 0.25, 0
    for _ in range(400):
        low, high = quartile_interval([draw.random() for _ in range(40)])
        n_held += low <= true <= high
    assert n_held >= 0.95 * 400 - 12
    few = [3.0, 1.0, 2.0]
    assert quartile_interval(few) == (1.0, 3.0)
    assert quartile_interval([5.0]) == (5.0, 5.0)
