"""Operators that only move numbers: they add up nothing, and round nothing."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from kernelwright.judge.compare.operators import Rounding

X = torch.randn(2, 4, 8, 8)
TABLE, PLACES = torch.randn(16, 8), torch.randint(0, 16, (3, 5))


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
        lambda: torch.zeros(16, 8).scatter(0, PLACES, TABLE[:3, :5]),
        lambda: torch.zeros(8, 8).index_put((PLACES[0] % 8,), X[0, 0, :5]),
    ],
)
def test_a_result_of_moved_numbers_is_not_rounded(call):
    usual = call()
    with Rounding(1, alike=True, equal_terms=False, times=1e6):
        assert torch.equal(call(), usual)


def test_a_computed_result_is_rounded():
    usual = X.exp()
    with Rounding(1, alike=True, equal_terms=False, times=1e6):
        assert not torch.equal(X.exp(), usual)
