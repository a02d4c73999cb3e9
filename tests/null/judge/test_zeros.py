"""Zeros that a module asks for: what it does with them is part of it."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from tests.null.judge.stubs import oracle_like

from kernelwright.judge.checks import CHECKS, Draw
from kernelwright.judge.compare.expected import expect
from kernelwright.judge.reference.observed import Asking
from kernelwright.judge.refusal import Refused
from kernelwright.judge.sandbox.calls import Call
from kernelwright.judge.verify.verification import Verification

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
def test_comparisons_with_zero_are_noticed_if_no_input_is_zero(call, is_heard):
    with Asking() as asking:
        call()
    assert asking.for_zeros is is_heard


@pytest.mark.parametrize("is_asked", [False, True])
def test_differences_on_zero_slices_are_warnings_unless_the_reference_asks_for_zeros(is_asked):
    own = [torch.zeros(4, 8)]
    expected = expect(own, [own[0].double()], [0.0])
    outputs = (replace(expected.outputs[0], jumps=torch.zeros(4, 8)),)
    expected = replace(expected, is_conditioned=True, is_explained=True, outputs=outputs)
    oracle = oracle_like(expected=lambda *_: expected, asks_for_zeros=is_asked)
    backend = SimpleNamespace(memory_bytes=lambda: 1 << 30)
    runner = SimpleNamespace(
        changed_arguments=lambda _: [], release=lambda hold: None, backend=backend, like=[]
    )
    verification = Verification(oracle, runner, 0)
    draw = Draw(CHECKS["empty"], 1)

    def turn(*_, take):
        return Call(1, [], [torch.ones(4, 8)])

    if not is_asked:
        verification.run(draw, turn)
        assert any("rows of zeros" in text.detail for text in verification.tally.warnings)
        return
    with pytest.raises(Refused, match="slices of zeros"):
        verification.run(draw, turn)
