"""Inputs changed as draws ask for, as far as the reference bears that."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tests.null.judge.perturbing import NAMES, perturbed

from kernelwright.judge.checks import CHECKS
from kernelwright.judge.compare.measures import all_finite
from kernelwright.judge.perturb.variation import Variation


def _is_positive(changed: list[Any], own: list[Any]) -> bool:
    """Whether the second argument is above zero and below one."""
    return float(changed[1].min()) > 0 and float(changed[1].max()) < 1


def _nothing(given: list[Any]) -> list[torch.Tensor]:
    return []


def test_an_argument_that_must_not_change_keeps_no_other_from_changing():
    own = [torch.rand(64, 64), torch.rand(64, 64) * 0.9 + 0.05]
    x, p = perturbed(own, "small", 7, accepts=lambda changed, own: float(changed[1].mean()) > 0.1)
    assert torch.equal(x, own[0] * 1e-3) and p is own[1]


def test_other_arguments_get_outliers_if_one_accepts_none():
    own = [torch.rand(64, 64), torch.rand(64, 64) * 0.9 + 0.05]
    variation = Variation(_is_positive, _nothing)
    for seed in (6, 7):  # each is the larger in its turn
        x, p = variation.perturbed(CHECKS["outliers"].perturb, own, seed)
        assert float(x.abs().max()) > 8 and float(p.max()) <= float(own[1].max())
        assert 0 < int((p != own[1]).sum()) <= 8


def test_accepted_changes_are_found_once():
    runs: list[Any] = []
    variation = Variation(lambda changed, own: not runs.append(changed), _nothing)
    own = [torch.rand(8, 8), torch.rand(8, 8)]
    for seed in (1, 2):
        variation.perturbed(CHECKS["centred"].perturb, own, seed)
    assert len(runs) == 1


@pytest.mark.parametrize(
    ("least", "most", "size"),
    [(-1, 1, 1.0), (0, 1e4, 300), (-40, 40, 30), (-0.45, 0.45, 0.44)],
)
def test_huge_inputs_are_as_large_as_the_reference_accepts(least, most, size):
    """An arc cosine gave NaN, so kernels that were right in the task's own range alone passed."""
    own = [torch.linspace(0 if least == 0 else -0.4, 0.4, 64).view(4, 16)]

    def accepts(x, own):
        return least <= float(x[0].min()) and float(x[0].max()) <= most

    (x,) = perturbed(own, "huge", 7, accepts=accepts)
    assert float(x.max()) == pytest.approx(size)


def test_outliers_are_as_large_as_the_reference_accepts():
    own = [torch.rand(64, 64) * 0.8 - 0.4]
    (x,) = perturbed(own, "outliers", 7, accepts=lambda x, own: float(x[0].abs().max()) <= 1)
    assert 0.5 < float(x.abs().max()) <= 1 and 0 < int((x != own[0]).sum()) <= 8


def test_positions_get_larger_steps_if_the_reference_accepts_them_or_another_order():
    positions = torch.arange(64)
    for most in (200, 63):
        (found,) = perturbed(
            [positions],
            "integers",
            7,
            accepts=lambda changed, own, m=most: int(changed[0].max()) <= m,
            fixed_integers=(True,),
        )
        assert not torch.equal(found, positions) and found.unique().numel() == 64
        assert (int(found.max()) > 63) == (most == 200)


PRICES = {
    "each by itself": lambda x, y: [(x / y).log()],
    "neighbours": lambda x, y: [(x[:, 1:] / x[:, :-1]).log()],
    "roots of products": lambda x, y: [x.prod(-1) ** 0.25],
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("function", PRICES.values(), ids=PRICES)
def test_arguments_keep_their_sign_if_the_other_gives_nan(name, function):
    own = [torch.rand(64, 4) + 0.1, torch.rand(64, 4) + 0.1]

    def accepts(changed, own):
        return all_finite(function(*changed))

    x, _ = perturbed(own, name, 7, accepts=accepts)
    assert bool((x >= 0).all())
    assert name in ("empty", "sparse") or not torch.equal(x, own[0])


def test_arguments_get_both_signs_if_results_stay_numbers():
    (x,) = perturbed([torch.rand(64, 4) + 0.1], "centred", 7)
    assert bool((x < 0).any())
