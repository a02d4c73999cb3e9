"""Rounding to a reduced precision, and the library's ways to it."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.core.errors import UsageError
from kernelwright.core.task import Task
from kernelwright.judge.baselines.library_settings import ALWAYS, SETTINGS, settings_of
from kernelwright.judge.compare.expected import ROUNDING
from kernelwright.judge.sandbox.lowering import lower, rounded

TASK = Task("t", "builtin", "class Model: ...\n")
floats = st.floats(min_value=2.0**-10, max_value=6e4, width=32)


@given(st.lists(floats, min_size=1), st.sampled_from([*ROUNDING]))
def test_rounding_is_to_nearest_and_rounds_once(values, precision):
    x = torch.tensor(values)
    x = torch.cat([x, -x])
    y = rounded(x, precision)
    assert bool(((y.double() - x.double()).abs() <= ROUNDING[precision] * x.double().abs()).all())
    assert torch.equal(rounded(y, precision), y)


def test_tf32_has_the_fractions_of_float16_and_the_range_of_float32():
    x = torch.rand(1000) + 1
    assert torch.equal(rounded(x, "tf32"), rounded(x, "fp16"))
    big = torch.tensor([3e38, float("inf"), float("-inf")])
    assert torch.equal(rounded(big, "tf32").isinf(), torch.tensor([False, True, True]))
    assert rounded(torch.tensor([float("nan")]), "tf32").isnan().all()


def test_what_is_not_float32_stays_as_it_is():
    for x in (torch.arange(3), torch.ones(3, dtype=torch.float64)):
        assert rounded(x, "bf16") is x


@pytest.mark.parametrize("is_held", [False, True])
def test_a_lowered_module_takes_and_gives_float32(is_held):
    module = torch.nn.Linear(16, 16)
    x = torch.randn(8, 16)
    exact = module(x).detach()
    y = lower(module, "bf16", is_held=is_held)(x).detach()
    assert y.dtype is torch.float32
    assert torch.equal(y, y.bfloat16().float())
    assert 0 < float((y - exact).abs().max()) < 0.1


def test_weights_are_held_only_where_the_precision_is_a_dtype():
    own = SETTINGS["cpu"]
    assert settings_of("cpu", "") == settings_of("cpu", "tf32") == own
    halved = settings_of("cpu", "bf16")
    assert halved[: len(own)] == own
    assert set(ALWAYS) < {row.name for row in halved if not row.is_held}
    assert len({row.name for row in halved}) == 2 * len(own)


def test_a_task_in_another_precision_is_another_task():
    lowered = TASK.in_precision("bf16")
    assert (TASK.precision, lowered.precision) == ("", "bf16")
    assert lowered.digest != TASK.digest
    assert lowered.in_precision("bf16") is lowered is lowered.in_precision("")
    assert TASK.in_precision("") is TASK
    assert replace(TASK, source='PRECISION = "fp64"\n').precision == ""
    with pytest.raises(UsageError, match="cannot be judged in"):
        lowered.in_precision("fp16")
    with pytest.raises(UsageError) as caught:
        TASK.in_precision("bf61")
    assert "bf16" in str(caught.value)
