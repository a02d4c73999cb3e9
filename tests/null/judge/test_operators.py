"""What every operator's rounding does to a result, and what that explains."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from kernelwright.judge.compare.allowances import FURTHER, explained_by_rounding
from kernelwright.judge.compare.expected import FACTOR, expect
from kernelwright.judge.compare.growth import SUM_ULP, ULP32, summation_growth
from kernelwright.judge.compare.operators import Rounding
from kernelwright.judge.compare.outputs import compare
from kernelwright.judge.refusal import WrongValues

N_RUNS = 8


def rounded(function, *given, equal_terms=False, times=1.0):
    """The results of a function in float64, each with operators that round otherwise."""
    for seed in range(N_RUNS):
        with Rounding(seed, alike=seed % 2 == 0, equal_terms=equal_terms, times=times):
            found = function(*given)
        yield found


def test_a_result_is_off_by_one_unit_and_a_sum_by_its_growth():
    x = torch.rand(64, 256, dtype=torch.float64) + 1
    for one in rounded(torch.exp, x):
        assert torch.allclose((one / x.exp() - 1).abs(), torch.tensor(ULP32).double(), rtol=1e-6)
    few = x[:, :64]
    for one in rounded(lambda x: x.sum(1), few):
        off = (one / few.sum(1) - 1).abs()
        assert torch.allclose(off, torch.tensor(8 * ULP32).double(), rtol=1e-6)


@pytest.mark.parametrize("n_terms", [256, 4096, 1 << 17])
def test_a_sum_is_allowed_no_more_than_any_sum_may_be_off(n_terms):
    """Or what floors refuse passes as rounding: a product of 4,096 terms in two of three bfloat16
    parts."""
    x = torch.rand(2, n_terms, dtype=torch.float64)
    for function, equal_terms in ((lambda x: x.sum(1), False), (lambda x: x @ x.T, True)):
        growth = summation_growth(n_terms, equal_terms=equal_terms)
        for one in rounded(function, x, equal_terms=equal_terms):
            off = (one / function(x) - 1).abs().max()
            assert FACTOR * off <= (SUM_ULP + growth) * ULP32 * 1.001


def test_what_is_only_moved_stays():
    x = torch.rand(8, 8, dtype=torch.float64)
    for one in rounded(lambda x: torch.cat([x.T.relu(), x.flip(0)[:, 2:]], 1), x):
        assert torch.equal(one, torch.cat([x.T, x.flip(0)[:, 2:]], 1))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_another_order_is_let_pass_where_the_reference_cancels_and_a_narrow_type_is_not(dtype):
    def loss(x):
        return 1 - x.sum(1) / (x.sum(1) + 1)

    x = torch.full((16, 1000), 1.4375, dtype=dtype)
    exact = loss(x.double())
    expected = expect([exact.to(dtype)], [exact], [8.0])
    runs = [rounded(loss, x.double(), equal_terms=True, times=n) for n in (1.0, FURTHER)]
    for found, further in zip(*runs, strict=True):
        (output,) = expected.outputs
        wider = explained_by_rounding(output, found, further, most=0.25)
        expected = replace(expected, outputs=(wider,))
    unit = torch.finfo(dtype).eps / 2
    compare([exact.to(dtype) + 100 * unit], expected)
    with pytest.raises(WrongValues):
        compare([exact.to(dtype) + 2.0**16 * unit], expected)


def test_what_nobody_can_say_is_not_compared_but_on_the_tasks_own_inputs():
    exact = torch.full((4,), 1e-9, dtype=torch.float64)
    (usual,) = expect([exact.float()], [exact], [8.0]).outputs
    moved = exact + 1e-8, exact + FURTHER * 1e-8
    assert explained_by_rounding(usual, *moved, most=math.inf).allowed == math.inf
    assert explained_by_rounding(usual, *moved, most=0.25).allowed == 0.25
    for lost in (math.nan, math.inf):
        no_number = exact * lost, exact
        assert explained_by_rounding(usual, *no_number, most=math.inf).allowed == usual.allowed


def test_numbers_that_jump_off_a_border_explain_nothing():
    x = torch.arange(4096, dtype=torch.float64) / 16

    def steps(x):
        return (x * 2).floor()

    (usual,) = expect([steps(x).float()], [steps(x)], [8.0]).outputs
    runs = [rounded(steps, x, times=n) for n in (1.0, FURTHER)]
    for found, further in zip(*runs, strict=True):
        assert not torch.equal(found, steps(x))
        assert explained_by_rounding(usual, found, further, most=0.25).allowed == usual.allowed


def test_where_a_sound_run_chooses_others_nobody_can_say_which_are_right():
    """The best boxes by scores that saturate: the library's order of equal ones is no law."""
    boxes = torch.rand(4, 64, 2).double()
    scores = torch.linspace(50, 60, 256, dtype=torch.float64).view(4, 64)

    def best(scores):
        chosen = scores.sigmoid().topk(8, 1).indices
        return boxes.gather(1, chosen[..., None].expand(-1, -1, 2))

    (usual,) = expect([best(scores).float()], [best(scores)], [8.0]).outputs
    found, further = (list(rounded(best, scores, times=n))[1] for n in (1.0, FURTHER))
    assert not torch.equal(found, best(scores))
    assert explained_by_rounding(usual, found, further, most=math.inf).allowed == math.inf
    assert explained_by_rounding(usual, found, further, most=0.25).allowed == usual.allowed
