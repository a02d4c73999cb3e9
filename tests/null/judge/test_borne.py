"""Which changes a reference accepts: as many as possible, each in the first way that it accepts."""

from __future__ import annotations

from functools import cache

import torch

from kernelwright.judge.perturb.accepted import MOST_TRIES, choose, mixed


def _given(n: int) -> list[torch.Tensor]:
    return [torch.full((2,), float(number)) for number in range(n)]


def _moved(own: list[torch.Tensor], by: float) -> list[torch.Tensor]:
    return [x + by for x in own]


def test_one_that_is_not_borne_keeps_no_other_from_being_changed():
    own = _given(3)
    ways = [cache(lambda by=by: _moved(own, by)) for by in (10.0, 20.0)]
    chosen = choose(own, ways, lambda found: float(found[1][0]) != 11.0)
    assert chosen == {0: 0, 1: 1, 2: 0}
    assert [float(x[0]) for x in mixed(own, ways, chosen)] == [10.0, 21.0, 12.0]


def test_what_no_way_changes_is_the_same_and_needs_no_run():
    own = _given(2)
    runs: list[object] = []
    chosen = choose(own, [lambda: [own[0], own[1].clone()]], lambda found: not runs.append(found))
    assert chosen == {} and not runs
    assert all(x is y for x, y in zip(mixed(own, [lambda: own], chosen), own, strict=True))


def test_what_is_borne_at_once_takes_one_run_and_what_is_not_a_few():
    own, runs = _given(40), []
    ways = [cache(lambda: _moved(own, 1.0))]
    assert len(choose(own, ways, lambda found: not runs.append(found))) == 40 and len(runs) == 1
    assert choose(own, ways, lambda found: bool(runs.append(found))) == {}
    assert len(runs) == 1 + MOST_TRIES
