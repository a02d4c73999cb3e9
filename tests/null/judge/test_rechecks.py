"""Checks are made again between and after timed calls, on inputs never seen before."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace

import torch
from tests.null.judge.stubs import oracle_like

from kernelwright.judge.checks import CHECKS, Draw
from kernelwright.judge.compare.expected import expect
from kernelwright.judge.sandbox.calls import Call
from kernelwright.judge.sandbox.outputs import ResultForm
from kernelwright.judge.sandbox.runner import Runner
from kernelwright.judge.verify import verification
from kernelwright.judge.verify.verification import FEWEST_RECHECKS, Verification

NAMES = ("centred", "huge", "outliers", "small")
DRAWS = [Draw(CHECKS[name], number) for number, name in enumerate(NAMES)]


class Recorded:
    """A verification of which every recheck is noted; all calls between are left out."""

    def __init__(self, seed: int = 0) -> None:
        self.asked: list[Draw] = []
        """Draws whose results were worked out."""
        self.seen: list[Draw] = []
        """Draws on which the candidate was called and compared."""
        oracle = oracle_like(expected=self._expected)
        backend = SimpleNamespace(memory_bytes=lambda: 1 << 30)
        runner = SimpleNamespace(
            changed_arguments=lambda _: [],
            release=lambda hold: None,
            outputs_held=lambda claims, name: [torch.ones(4)],
            is_read=False,
            backend=backend,
            like=[],
        )
        self.one = Verification(oracle, runner, seed)
        self.one.get_ready(DRAWS)

    def _expected(self, draw: Draw, arguments: list[object]) -> object:
        (self.seen if draw in self.asked else self.asked).append(draw)
        return expect([torch.ones(4)], [torch.ones(4).double()], [8.0])

    def turn(self, *_: object, take: bool) -> Call:
        return Call(1, [], [torch.ones(4)])


def test_no_draw_comes_twice_and_every_check_has_its_turn() -> None:
    recorded = Recorded()
    for _ in range(12):
        recorded.one.recheck(DRAWS, recorded.turn)
    seen = recorded.seen
    assert len(set(seen)) == 12 and not set(seen) & set(DRAWS)
    assert set(Counter(draw.check for draw in seen).values()) == {3}


def test_after_the_last_call_the_checks_without_a_turn_come() -> None:
    recorded = Recorded()
    recorded.one.recheck(DRAWS, recorded.turn)
    recorded.one.recheck_rest(DRAWS, recorded.turn)
    assert {draw.name for draw in recorded.seen} == set(NAMES)


def test_a_slow_task_has_the_fewest_rechecks(monkeypatch) -> None:
    monkeypatch.setattr(verification, "RECHECKS_S", -1.0)
    recorded = Recorded()
    recorded.one.recheck_rest(DRAWS, recorded.turn)
    assert len(recorded.seen) == FEWEST_RECHECKS


def test_another_candidate_has_them_in_another_order() -> None:
    orders = set()
    for seed in range(8):
        recorded = Recorded(seed)
        recorded.one.recheck_rest(DRAWS, recorded.turn)
        orders.add(tuple(draw.name for draw in recorded.seen))
    assert len(orders) > 3


def test_a_checked_call_asks_for_its_results_once() -> None:
    """Results that are too large to be kept are computed whenever they are asked for."""
    asked: list[Draw] = []
    result = torch.ones(4)

    def expected(draw: Draw, arguments: list[object]) -> object:
        asked.append(draw)
        return expect([result], [result.double()], [8.0])

    backend = SimpleNamespace(memory_bytes=lambda: 1 << 30)
    runner = SimpleNamespace(
        changed_arguments=lambda _: [], release=lambda hold: None, backend=backend, like=[]
    )
    one = Verification(oracle_like(expected=expected), runner, 0)
    assert one.run(DRAWS[0], lambda *_, **__: Call(1, [], [result])) == [result]
    assert asked == DRAWS[:1]


def test_what_one_candidate_was_given_the_next_is_given_too() -> None:
    """In another order: its results were worked out once."""
    given = []
    for seed in range(2):
        recorded = Recorded(seed)
        for _ in DRAWS:
            recorded.one.recheck(DRAWS, recorded.turn)
        given.append(set(recorded.seen))
    assert given[0] == given[1]


def test_what_a_recheck_is_to_give_is_worked_out_before_the_call_that_precedes_it() -> None:
    recorded = Recorded()
    for number in range(1, 6):
        assert len(recorded.asked) == number
        recorded.one.recheck(DRAWS, recorded.turn)
        assert recorded.seen == recorded.asked[:number]


def test_a_child_that_was_given_weights_stands_still_before_others_are_timed() -> None:
    """A recheck ends with the task's own weights, and the next call may be a library setting's."""
    asked: list[str] = []
    child = SimpleNamespace(
        is_readable=True,
        module=0,
        request=lambda what, **_: asked.append(what),
        stop=lambda: asked.append("stop") or 0,
    )
    backend = SimpleNamespace(reads_from_outside=True, settle=lambda: None)
    runner = Runner(child, backend, ResultForm([]), threads=1)
    runner.load({}, limit_s=1.0)
    assert asked == ["load", "stop"]
