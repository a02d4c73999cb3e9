"""Examples that are too long are left out, and it is said how many."""

import warnings

import pytest

from kernelwright.core.errors import UsageError
from kernelwright.train.model import fitting
from kernelwright.train.recipes import recipe

TOLD = recipe("sft", model="m", out="o", archive="", max_tokens=100, max_prompt_tokens=50)


def test_long_examples_are_left_out_and_counted():
    with pytest.warns(UserWarning, match="2 of 3 examples are left out: .* than the 150 tokens"):
        assert fitting(["a", "b", "c"], [151, 150, 500], TOLD) == ["b"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fitting(["a"], [150], TOLD) == ["a"]
    with pytest.raises(UsageError, match="the shortest has 151 tokens"):
        fitting(["a"], [151], TOLD)
