"""Distributions are checked again between and after timed calls, on inputs never seen before."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace

import pytest
import torch

from kernelwright.judge.children.runner import Call, Runner
from kernelwright.judge.compare.outputs import expect
from kernelwright.judge.perturb.draws import Draw
from kernelwright.judge.reference import check
from kernelwright.judge.reference.check import FEWEST_RECHECKS, Check

DRAWS = [Draw(name, number) for number, name in enumerate(("centred", "huge", "outliers", "small"))]


@pytest.fixture
def seen(monkeypatch) -> list[Draw]:
    found: list[Draw] = []
    monkeypatch.setattr(Check, "run", lambda self, draw, turn: found.append(draw))
    monkeypatch.setattr(Check, "_between", lambda self, turn: None)
    return found


def made(seed: int = 0) -> Check:
    oracle = SimpleNamespace(secret=1, kept_arguments=lambda _: [], expected=lambda *_: None)
    one = Check(oracle, None, seed)
    one.get_ready(DRAWS)
    return one


def test_no_draw_comes_twice_and_every_distribution_has_its_turn(seen) -> None:
    one = made()
    for _ in range(12):
        one.recheck(DRAWS, None)
    assert len(set(seen)) == 12 and not set(seen) & set(DRAWS)
    assert set(Counter(draw.distribution for draw in seen).values()) == {3}


def test_after_the_last_call_those_without_a_turn_come(seen) -> None:
    one = made()
    one.recheck(DRAWS, None)
    one.recheck_rest(DRAWS, None)
    assert {draw.distribution for draw in seen} == {draw.distribution for draw in DRAWS}


def test_a_slow_task_has_the_fewest(seen, monkeypatch) -> None:
    monkeypatch.setattr(check, "RECHECKS_S", -1.0)
    made().recheck_rest(DRAWS, None)
    assert len(seen) == FEWEST_RECHECKS


def test_another_candidate_has_them_in_another_order(seen) -> None:
    orders = set()
    for seed in range(8):
        seen.clear()
        made(seed).recheck_rest(DRAWS, None)
        orders.add(tuple(draw.distribution for draw in seen))
    assert len(orders) > 3


def test_a_checked_call_asks_for_its_results_once() -> None:
    """Those too large to be kept are computed whenever somebody asks."""
    asked: list[Draw] = []
    result = torch.ones(4)
    oracle = SimpleNamespace(
        kept_arguments=lambda draw: [],
        expected=lambda draw, _: asked.append(draw) or expect([result], [result.double()], [8.0]),
        returned=[False],
        lent=[False],
        overlapping=set(),
        changed=[False],
    )
    place = SimpleNamespace(memory_bytes=lambda: 1 << 30)
    runner = SimpleNamespace(
        changed_arguments=lambda _: [], release=lambda hold: None, place=place, like=[]
    )
    found = Check(oracle, runner, 0).run(DRAWS[0], lambda *_, **__: Call(1, [], [result]))
    assert found == [result] and asked == DRAWS[:1]


def test_what_one_candidate_was_given_the_next_is_given_too(seen) -> None:
    """In another order: what is right was worked out once."""
    given = []
    for seed in range(2):
        seen.clear()
        one = made(seed)
        for _ in DRAWS:
            one.recheck(DRAWS, None)
        given.append(set(seen))
    assert given[0] == given[1]


def test_what_a_recheck_is_to_give_is_worked_out_before_the_call_that_precedes_it(seen) -> None:
    one, asked = made(), []
    one.oracle.expected = lambda draw, _: asked.append(draw)
    one.get_ready(DRAWS)
    for number in range(1, 6):
        assert len(asked) == number
        one.recheck(DRAWS, None)
        assert seen == asked[:number]


def test_whoever_has_been_given_weights_stands_still_before_others_are_timed() -> None:
    """A recheck ends with the task's own weights, and the next call may be a library setting's."""
    asked: list[str] = []
    child = SimpleNamespace(
        is_readable=True,
        request=lambda what, **_: asked.append(what),
        stop=lambda: asked.append("stop") or 0,
    )
    place = SimpleNamespace(reads_from_outside=True, settle=lambda: None)
    runner = Runner(child, place, [], threads=1)
    runner.weight_slots = {}
    runner.load({}, limit_s=1.0)
    assert asked == ["load", "stop"]
