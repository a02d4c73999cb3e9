"""What is a matter for a warning where inputs are not the task's own."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from kernelwright.core.evaluation import Status
from kernelwright.judge.perturb.distributions import RESAMPLED
from kernelwright.judge.perturb.draws import TASK, Draw
from kernelwright.judge.reference.check import Check
from kernelwright.judge.refusal import Refused


def check(*, is_fixed: bool = False) -> Check:
    """One whose task never changes its integers, or draws them anew."""
    expected = SimpleNamespace(exact=[torch.zeros(1)], warnings=())
    oracle = SimpleNamespace(
        kept_arguments=lambda _: [],
        expected=lambda *_: expected,
        fixed_integers=[is_fixed],
        has_weights=False,
        fixed=SimpleNamespace(text=lambda: ""),
        others={},
        asked=frozenset(),
    )
    return Check(oracle, None, 0)


@pytest.mark.parametrize("status", [Status.WRONG_SHAPE, Status.WRONG_DTYPE, Status.RUNTIME_ERROR])
def test_a_result_of_another_shape_is_excused_where_another_value_is(status):
    def turn(*_, take):
        raise Refused(status, "the output has shape [3] instead of [4]")

    one = check()
    assert one.run(Draw(RESAMPLED, 1), turn) == []
    assert any("resampled: the output has shape [3]" in text for text in one.tally.warnings)
    for other, draw in ((check(is_fixed=True), RESAMPLED), (check(), TASK)):
        with pytest.raises(Refused) as refused:
            other.run(Draw(draw, 1), turn)
        assert refused.value.status is status
