"""Zeros that a module asks for: what it does with them is part of it."""

from types import SimpleNamespace

import pytest
import torch

from kernelwright.judge.compare.outputs import expect
from kernelwright.judge.compare.zeros import AskingForZeros
from kernelwright.judge.perturb.distributions import EMPTY
from kernelwright.judge.perturb.draws import Draw
from kernelwright.judge.reference.check import Check
from kernelwright.judge.refusal import Refused, WrongValues

X = torch.arange(1.0, 7.0).reshape(2, 3)
SIGNED = X - 3.5


@pytest.mark.parametrize(
    ("call", "is_heard"),
    [
        (lambda: (X != 0).any(-1), True),
        (lambda: X.masked_fill(X == 0.0, 1.0), True),
        (lambda: X.norm(dim=-1) > 0, True),  # a guard
        (lambda: X.any(-1), True),
        (lambda: X.count_nonzero(), True),
        (lambda: torch.where(SIGNED > 0, SIGNED, 0.1 * SIGNED), False),
        (lambda: torch.relu(X), False),
        (lambda: X > 0.5, False),
        (lambda: X.int() != 0, False),
        (lambda: torch.nn.functional.normalize(X), False),
    ],
)
def test_those_that_no_input_is_are_asked_for(call, is_heard):
    with AskingForZeros() as asking:
        call()
    assert asking.is_heard is is_heard


@pytest.mark.parametrize("is_asked", [False, True])
def test_slices_of_zeros_are_a_matter_for_a_warning_unless_they_are_asked_for(is_asked):
    own = [torch.zeros(4, 8)]
    expected = expect(own, [own[0].double()], [0.0])
    oracle = SimpleNamespace(
        asked=frozenset({EMPTY} if is_asked else ()),
        fixed_integers=[],
        others={},
        fixed=SimpleNamespace(text=lambda: ""),
    )
    check = Check(oracle, None, 0)
    check._compared = _differs
    told = Draw(EMPTY, 1), [torch.ones(4, 8)], [], expected
    if not is_asked:
        check._judge(*told)
        assert any("rows of zeros" in text for text in check.tally.warnings)
        return
    with pytest.raises(Refused, match="slices of zeros"):
        check._judge(*told)


def _differs(*_):
    raise WrongValues("the output is off")
