"""What is a matter for a warning where inputs are not the task's own."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from tests.null.judge.stubs import oracle_like

from kernelwright.core.outcome import ReasonCode
from kernelwright.judge.checks import TASK, Draw
from kernelwright.judge.checks.registry import RESAMPLED
from kernelwright.judge.refusal import Refused
from kernelwright.judge.verify.verification import Verification


def check(*, is_fixed: bool = False) -> Verification:
    """One whose task never changes its integers, or draws them anew."""
    expected = SimpleNamespace(exact=[torch.zeros(1)], warnings=())
    oracle = oracle_like(expected=lambda *_: expected, fixed_integers=(is_fixed,))
    return Verification(oracle, None, 0)


@pytest.mark.parametrize(
    "code", [ReasonCode.OUTPUT_SHAPE, ReasonCode.OUTPUT_DTYPE, ReasonCode.RAISED]
)
def test_a_wrong_shape_is_a_warning_where_a_wrong_value_is(code):
    def turn(*_, take):
        raise Refused(code, "the output has shape [3] instead of [4]")

    one = check()
    assert one.run(Draw(RESAMPLED, 1), turn) == []
    assert any("resampled: the output has shape [3]" in text.detail for text in one.tally.warnings)
    for other, draw in ((check(is_fixed=True), RESAMPLED), (check(), TASK)):
        with pytest.raises(Refused) as refused:
            other.run(Draw(draw, 1), turn)
        assert refused.value.code is code
