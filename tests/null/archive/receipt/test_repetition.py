"""Whether a receipt stands when its candidate has been judged again."""

from dataclasses import replace

import pytest
from tests.null.archive.nouns import TASK, proposal, verdict, warned

from kernelwright.archive.receipt import Receipt
from kernelwright.archive.repetition import Repetition
from kernelwright.core.evaluation import Environment, Timing
from kernelwright.core.outcome import Status

CANDIDATE = proposal().candidate


def timed(*candidate_ns):
    series = {"candidate": candidate_ns, "eager": (2000,) * len(candidate_ns)}
    return Timing(series, strongest="eager", clock="parent", cache="cold")


def found(*candidate_ns, **other):
    return verdict(CANDIDATE, timing=timed(*candidate_ns), **other)


def repetition(before, after):
    return Repetition(Receipt(TASK, CANDIDATE, before), after)


BEFORE = found(1000, 1010, 990, 1005, 995)


def test_the_same_again_stands():
    again = repetition(BEFORE, found(1003, 1001, 998, 1013, 994, seed=7))
    assert again.stands is True and again.differences == () and again.notes == ()


def test_an_interval_that_agrees_with_nearly_everything_does_not_stand():
    noisy = found(5500, 950, 1300, 2000, 1000)
    for before, after, which in ((BEFORE, noisy, "the new"), (noisy, BEFORE, "the receipt's")):
        again = repetition(before, after)
        assert again.stands is None and again.differences == ()
        assert again.notes == (f"too wide to say anything: {which} speedup",)
    far = repetition(BEFORE, found(100, 150, 170, 180, 190))
    assert far.stands is False


@pytest.mark.parametrize(("candidate_ns", "moved"), [(2000, "-50"), (500, "+99")])
def test_a_speedup_that_moved_says_by_how_much(candidate_ns, moved):
    again = repetition(BEFORE, found(*(candidate_ns + i for i in range(5))))
    assert again.stands is False
    (difference,) = again.differences
    assert f"moved by {moved}" in difference


def test_another_status_does_not_stand_and_says_why():
    again = repetition(BEFORE, verdict(CANDIDATE, Status.WRONG_VALUES))
    assert again.stands is False
    assert "was passed and is wrong_values (element [3]" in again.differences[0]
    back = repetition(verdict(CANDIDATE, Status.WRONG_VALUES), BEFORE)
    assert back.stands is False


def test_the_same_refusal_stands():
    refused = verdict(CANDIDATE, Status.WRONG_VALUES)
    assert repetition(refused, refused).stands is True


def test_a_time_that_came_or_went_does_not_stand():
    untimed = replace(BEFORE, timing=None)
    assert repetition(BEFORE, untimed).differences == ("it was timed and is not timed",)
    assert repetition(untimed, BEFORE).stands is False
    assert repetition(untimed, untimed).stands is True


def test_a_machine_that_failed_says_nothing_about_the_receipt():
    failed = verdict(CANDIDATE, Status.INFRA_ERROR)
    assert repetition(BEFORE, failed).stands is None
    assert repetition(failed, BEFORE).stands is None


def test_what_else_is_different_is_said():
    before = found(
        1000,
        environment=Environment("cpu", {"torch": "2.13", "threads": 2, "governor": ""}),
        guarantees=("network", "filesystem"),
        kinds=("kernel",),
    )
    after = found(
        1000,
        environment=Environment("cuda:sm_90", {"torch": "2.14", "threads": 2, "gpu": "H200"}),
        guarantees=("network",),
        warnings=(warned("a new one"),),
        judge_version=2,
    )
    again = repetition(before, after)
    assert again.stands is True  # what a receipt promises is a status and a speedup
    assert again.notes == (
        "judge version: 1 → 2",
        "kind: kernel → –",
        "device: cpu → cuda:sm_90",
        "torch: 2.13 → 2.14",
        "governor: – → not there",
        "gpu: not there → H200",
        "guarantee that held then and not now: filesystem",
        "new warning: a new one",
    )
