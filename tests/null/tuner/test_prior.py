"""The roofline prior orders candidates as an H200 did: trials of KernelBench, by program."""

import json
from pathlib import Path

import pytest

from kernelwright.core.trial import Outline, StepOutline
from kernelwright.tuner.cost_model import rank_correlation
from kernelwright.tuner.prior import GPU, prior_ns, step_ns

TRIALS = json.loads(Path(__file__).with_name("h200_trials.json").read_text())
"""Task → its programs, each a list of steps, and trials: a program, its knobs, and the time."""


def expected_and_measured(task):
    """The times of a task's trials as the prior has them and as they were, in microseconds."""
    programs = [Outline(tuple(StepOutline(**step) for step in one)) for one in task["programs"]]
    expected = [
        prior_ns(programs[trial["program"]], {"kernels": trial["kernels"]}, GPU) / 1e3
        for trial in task["trials"]
    ]
    return expected, [trial["time_us"] for trial in task["trials"]]


@pytest.mark.parametrize("name", TRIALS)
def test_the_candidate_that_is_expected_first_is_among_the_fastest(name):
    expected, measured = expected_and_measured(TRIALS[name])
    first = measured[expected.index(min(expected))]
    assert first <= 1.1 * min(measured)
    assert rank_correlation(expected, measured) > 0.3


@pytest.mark.parametrize("name", TRIALS)
def test_times_are_expected_within_a_factor_of_two(name):
    for expected, measured in zip(*expected_and_measured(TRIALS[name]), strict=True):
        assert 0.5 < expected / measured < 2.0


def test_large_products_of_16_bits_are_left_to_the_library():
    sizes = {"bytes": 3e7, "flops": 2e10, "rows": 2048.0, "columns": 4608.0, "k": 1152.0}
    types = {"bfloat16": 3}
    library = StepOutline("", "library", {"torch.ops.aten.linear.default": 1, **types}, sizes)
    own = StepOutline("product", "product", types, sizes)
    knobs = {"block_m": 128, "block_n": 128, "precision": "native"}
    assert 1.2 < step_ns(own, knobs, GPU) / step_ns(library, {}, GPU) < 2.0


def test_a_thin_product_keeps_a_gpu_busy():
    sizes = {"bytes": 2e6, "flops": 2e6, "rows": 1.0, "columns": 1024.0, "k": 1024.0}
    step = StepOutline("product", "product", {"bfloat16": 3}, sizes)
    assert (
        step_ns(step, {"shape": "row", "rows": 1}, GPU) < 2 * sizes["bytes"] / GPU.bytes_per_s * 1e9
    )


def test_views_cost_nothing():
    view = StepOutline("", "library", {"torch.ops.aten.permute.default": 1}, {"bytes": 1e9})
    assert prior_ns(Outline((view,)), {}, GPU) == prior_ns(Outline(()), {}, GPU)


def test_a_product_of_the_library_in_float32_is_never_as_fast_as_tensor_cores():
    sizes = {"bytes": 2e8, "flops": 2 * 4096.0**3, "rows": 4096.0, "columns": 4096.0, "k": 4096.0}
    library = StepOutline("", "library", {"torch.ops.aten.linear.default": 1}, sizes)
    own = StepOutline("product", "product", {}, sizes)
    knobs = {"block_m": 64, "block_n": 64, "split": "before", "precision": "fp16x2_3"}
    assert step_ns(library, {}, GPU) > 2.5 * step_ns(own, knobs, GPU)
