"""Where a sum's terms are nearly equal their roundings are too, and a plain loop loses more."""

import torch
from tests.null.judge.perturbing import transform

from kernelwright.judge.checks import CHECKS
from kernelwright.judge.compare.growth import floor_error, summation_growth


def allowed(n_terms: int, *, equal_terms: bool) -> float:
    return floor_error(torch.float32, summation_growth(n_terms, equal_terms=equal_terms))


def test_exponentials_of_small_products_are_nearly_equal():
    draw = torch.Generator().manual_seed(0)
    q, k = transform([torch.randn(1024, 16, generator=draw) for _ in range(2)], "small", 7)
    scores = q @ k.T / 4
    scores -= scores.amax(-1, keepdim=True)
    shares = scores[scores.sum(-1).argmin()].exp()
    in_a_loop = torch.zeros(())
    for share in shares:
        in_a_loop += share
    off = abs(float(in_a_loop) / float(shares.double().sum()) - 1)
    assert allowed(1024, equal_terms=False) < off < allowed(1024, equal_terms=True)
    assert CHECKS["small"].tolerance.equal_terms
