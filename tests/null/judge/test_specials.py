"""NaN that a module asks for: those of its inputs are part of it, those that it makes are not."""

import math

import pytest
import torch

from kernelwright.judge.reference.observed import Asking

X = torch.arange(6.0).reshape(2, 3)
KEEP = torch.tensor([[True, False, True], [True, True, True]])
BELOW = torch.full((2, 3), -math.inf).triu(1)


def masked():
    return X.masked_fill(~KEEP, -math.inf).softmax(-1)


@pytest.mark.parametrize(
    ("call", "is_heard"),
    [
        (lambda: torch.nanmean(X), True),
        (lambda: torch.where(X.isnan(), 0.0, X), True),
        (lambda: X.nan_to_num_(), True),
        (lambda: X.log().nan_to_num(), False),  # of zero
        (lambda: masked().nan_to_num(), False),  # though each row keeps something this time
        (lambda: torch.where(masked().isnan(), 0.0, X), False),
        (lambda: (X + torch.full_like(X, -math.inf)).softmax(-1).nan_to_num(), False),
        (lambda: torch.nan_to_num(X.masked_fill(~KEEP, 0.0), posinf=1.0), True),
        (masked, False),
    ],
)
def test_those_of_the_inputs_are_asked_for(call, is_heard):
    with Asking() as asking:
        call()
    assert asking.for_specials is is_heard


def test_a_mask_among_the_inputs_makes_some():
    with Asking([X, BELOW, KEEP]) as asking:
        (X[:1] + BELOW).softmax(-1).nan_to_num()
    assert not asking.for_specials
