"""What only moves numbers is held to them, and not to what a sum may be off."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from kernelwright.judge.compare.growth import MOVED, summation_growth
from kernelwright.judge.compare.outputs import Expected, compare, expect
from kernelwright.judge.reference.observed import observe
from kernelwright.judge.refusal import WrongValues

X = torch.randn(2, 4, 8, 8)
TABLE, PLACES = torch.randn(16, 8), torch.randint(0, 16, (3, 5))


def n_added(call) -> list[float]:
    return observe(call, [X, TABLE, PLACES]).n_added


@pytest.mark.parametrize(
    "call",
    [
        lambda: X.sort(dim=-1).values,
        lambda: X.median(dim=-1).values,
        lambda: X.kthvalue(2).values,
        lambda: X.topk(2).values,
        lambda: X.cummax(-1).values,
        lambda: functional.max_pool2d(X, 2),
        lambda: functional.max_pool1d(X[0], 2),
        lambda: functional.adaptive_max_pool2d(X, 2),
        lambda: functional.pad(X, (1, 1, 1, 1), mode="reflect"),
        lambda: functional.interpolate(X, scale_factor=2),
        lambda: functional.embedding(PLACES, TABLE),
        lambda: TABLE[(PLACES * 3 + 1) % 16],
        lambda: functional.unfold(X, 2),
        lambda: torch.cat([X.roll(1, 0), X.flip(1).relu(), -X.abs().clamp(max=0.5)]),
        lambda: X.transpose(1, 2),
        lambda: torch.zeros_like(X).copy_(X),
        lambda: X.bfloat16().float(),
        lambda: torch.zeros(16, 8).scatter(0, PLACES, TABLE[:3, :5]),
        lambda: torch.zeros(8, 8).index_put((PLACES[0] % 8,), X[0, 0, :5]),
    ],
)
def test_what_moves_numbers_adds_none(call):
    assert n_added(call) == [0.0]


@pytest.mark.parametrize(
    "call",
    [
        lambda: (X * 2).sort(dim=-1).values,
        lambda: X.gather(-1, X.argsort(-1)),  # ties decide it
        lambda: torch.where(X > 0, X, -X),
        lambda: torch.zeros(8, 8).index_put_((PLACES[0] % 8,), X[0, 0, :5], accumulate=True),
        lambda: X.sort(-1).values if bool(X.sum() > 1e9) else X.relu(),
        lambda: torch.view_as_complex(X.view(2, 4, 8, 4, 2)).abs(),
        lambda: torch.from_numpy(X.numpy().cumsum(-1)),
        lambda: torch.zeros_like(X).add_(X),
        lambda: torch.zeros(16, 8).scatter_(0, PLACES, TABLE[:3, :5], reduce="add"),
        lambda: X.arange if hasattr(X, "arange") else torch.arange(0, 1, 0.1),
    ],
)
def test_what_computes_or_hangs_on_ties_is_as_before(call):
    assert min(n_added(call)) >= 1.0


def test_what_is_written_to_and_not_given_back_is_computed():
    def call():
        found = [X.clone()]
        torch._foreach_mul_(found, 3.0)
        return found[0]

    assert n_added(call) == [1.0]


def moved(exact: torch.Tensor) -> Expected:
    return expect([exact], [exact.double()], [MOVED])


def test_steps_in_place_of_numbers_are_refused():
    rows = torch.randn(4, 4096).sort(dim=1).values
    step = (rows[:, -1:] - rows[:, :1]) / (1 << 18)
    steps = (rows / step).round() * step
    usual = expect([rows], [rows.double()], [summation_growth(4096, equal_terms=False)])
    compare([steps.float()], usual)
    with pytest.raises(WrongValues, match="is off by"):
        compare([steps.float()], moved(rows))
    fine = rows.double() * 2**20 / rows.abs().amax(1, keepdim=True)  # within what conditioning adds
    fine = fine.round() * rows.abs().amax(1, keepdim=True) / 2**20
    wide = moved(rows)
    wide.allowed[0] *= 100
    with pytest.raises(WrongValues, match="other numbers than its inputs'"):
        compare([fine.float()], wide)


def test_what_is_exact_or_flushed_or_added_from_parts_passes():
    rows = torch.randn(64, 64)
    rows[0, 0] = 1e-40
    high = rows.bfloat16().float()
    low = (rows - high).bfloat16().float()
    for value in (
        rows,
        rows.masked_fill(rows == rows[0, 0], 0.0),
        high + low + (rows - high - low),
    ):
        compare([value], moved(rows))
    compare([(rows + (rows + rows.abs() - rows)) - rows.abs()], moved(rows))


def test_infinities_are_moved_too():
    rows = torch.randn(8, 8)
    rows[0, 0], rows[1, 1], rows[2, 2] = torch.inf, -torch.inf, torch.nan
    compare([rows.clone()], moved(rows))


def test_what_is_rounded_once_is_no_number_that_was_moved():
    rows = torch.randn(8, 8, dtype=torch.float64)
    assert expect([rows.float()], [rows], [MOVED]).moved == [False]
    assert expect([rows.float()], [rows.float().double()], [MOVED]).moved == [True]
