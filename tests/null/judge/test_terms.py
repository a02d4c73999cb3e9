"""Of how many terms results are the sums, as far as that is known."""

import pytest
import torch

from kernelwright.judge.compare.growth import count_terms
from kernelwright.judge.reference.observed import observe


def test_each_output_is_a_sum_as_long_as_if_it_were_the_only_one():
    given, large, loss = torch.zeros(64, 32), torch.zeros(64, 32), torch.zeros(())
    assert count_terms([given], [large, loss], 0, 1.0) == [64, 64 * 32]
    assert count_terms([given], [loss], 0, 1.0) == [64 * 32]


@pytest.mark.parametrize(
    ("call", "is_known"),
    [
        (lambda x, w: torch.tanh(x @ w), True),
        (lambda x, w: torch.nn.functional.layer_norm(x, [8]), True),
        (lambda x, w: x.cumsum(0), False),
        (lambda x, w: (x @ w).softmax(0), False),
    ],
    ids=["product", "norm", "cumsum", "softmax"],
)
def test_rows_are_no_terms_where_it_is_known_what_is_added_up(call, is_known):
    x, w = torch.randn(4096, 8), torch.randn(8, 8)
    seen = observe(lambda: call(x, w), [x, w])
    assert seen.is_known == is_known
    terms = count_terms([x, w], seen.outputs, seen.flops, seen.most_added, is_known=seen.is_known)
    assert (max(terms) < 64) == is_known


@pytest.mark.parametrize(
    ("module", "n"),
    [
        (torch.nn.GroupNorm(4, 16), 4 * 8 * 8),
        (torch.nn.LayerNorm([16, 8, 8]), 16 * 8 * 8),
        (torch.nn.BatchNorm2d(16), 2 * 8 * 8),
        (torch.nn.InstanceNorm2d(16), 8 * 8),
        (torch.nn.ReLU(), 1),
    ],
)
def test_what_is_added_up_over_several_axes_is_a_long_sum(module, n):
    seen = observe(lambda: module(torch.randn(2, 16, 8, 8)))
    assert seen.most_added == n
    assert count_terms([torch.zeros(2, 16, 8, 8)], seen.outputs, 0, n) == [max(16, n)]
