"""Windows: many calls on inputs of their own, whose outputs a caller holds all at once."""

from __future__ import annotations

import pytest
import torch

from kernelwright.core.outcome import ReasonCode
from kernelwright.core.task import Task
from kernelwright.judge import timed_inputs
from kernelwright.judge.reference.oracle import Oracle
from kernelwright.judge.refusal import Refused
from kernelwright.judge.sandbox.outputs import Claim, claims_at, refuse_reused
from kernelwright.judge.sandbox.protocol import Go
from kernelwright.judge.timed_inputs import TimedInputs

LIKE = [torch.empty(4, 3)]
N_BYTES = 4 * 3 * 4
SOURCE = """
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, n):
        return x * n


def get_inputs():
    return [{}]


def get_init_inputs():
    return []
"""


def claim(address: int) -> list[Claim]:
    return [Claim("the output", address, (4, 3), (3, 1))]


@pytest.mark.parametrize("go", [Go(), Go("watched,kept", True, (3, 0, 2)), Go("", False, (0,))])
def test_a_request_to_run_calls_is_understood_as_it_was_meant(go):
    assert Go.of(go.text()) == go


def test_all_calls_of_a_window_are_laid_out_as_the_last():
    found = claims_at([[4096], [8192]], claim(8192), 2)
    assert [one.address for [one] in found] == [4096, 8192]
    assert {one.shape for [one] in found} == {(4, 3)}


@pytest.mark.parametrize(
    "addresses",
    [
        None,
        [[4096]],
        [[4096], [4096]],
        [[-1], [8192]],
        [[True], [8192]],
        [["a"], [8192]],
        [8192, 8192],
    ],
)
def test_addresses_that_are_not_those_of_the_calls_are_refused(addresses):
    with pytest.raises(Refused) as refused:
        claims_at(addresses, claim(8192), 2)
    assert refused.value.code is ReasonCode.NONSENSE_CLAIM


def test_outputs_of_different_calls_may_touch_and_not_overlap():
    apart = [claim(n * N_BYTES) for n in (5, 2, 9, 3)]
    refuse_reused(apart, LIKE, but_for=[False])
    with pytest.raises(Refused) as refused:
        refuse_reused([*apart, claim(3 * N_BYTES + 4)], LIKE, but_for=[False])
    assert refused.value.code is ReasonCode.OUTPUT_REUSED
    refuse_reused([claim(0), claim(0)], LIKE, but_for=[True])  # the reference lends it, too


def inputs(text: str, room_bytes: float = 1e9) -> TimedInputs:
    return TimedInputs(Oracle(Task("t", "test", SOURCE.format(text)), "cpu", 5), room_bytes)


def test_inputs_of_timed_calls_are_new_and_stay_for_the_next_candidate():
    made = inputs("torch.randn(64), 2")
    assert made.may_share_windows
    first, second = (made.of(n).arguments[0] for n in (1, 2))
    assert not torch.equal(first, second)
    assert made.of(1).arguments[0] is first


def test_inputs_that_take_long_to_draw_are_varied(monkeypatch):
    made = inputs("torch.randn(64) + 3, 2")
    drawn = [made.of(n).arguments[0] for n in range(2)]
    monkeypatch.setattr(timed_inputs, "DRAWING_S", 0.0)
    monkeypatch.setattr(timed_inputs, "SLOW_S", 0.0)
    varied = [made.of(n).arguments[0] for n in range(2, 40)]
    assert len({tuple(x.tolist()) for x in (*drawn, *varied)}) == 40
    for x in varied:
        assert min(float((x / y - 1).abs().max()) for y in drawn) <= 1 / 64


@pytest.mark.parametrize(
    "text, room_bytes",
    [
        ("torch.randn(64), float(torch.rand(()))", 1e9),
        ("torch.randn(64), 2", 0),
    ],
    ids=["other numbers", "no room"],
)
def test_calls_are_timed_one_by_one_where_draws_differ_or_memory_is_scarce(text, room_bytes):
    assert not inputs(text, room_bytes).may_share_windows
