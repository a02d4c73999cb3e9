"""The yardstick of convolutions that a library may round to TF32."""

from __future__ import annotations

import pytest
import torch

from kernelwright.core.outcome import WarningCode
from kernelwright.core.task import Task
from kernelwright.judge.compare.expected import expect
from kernelwright.judge.compare.outputs import compare
from kernelwright.judge.reference import study
from kernelwright.judge.reference.forward import Forward
from kernelwright.judge.reference.lowered import (
    RoundedConvolutions,
    for_convolutions,
    may_be_rounded,
)
from kernelwright.judge.reference.oracle import Oracle
from kernelwright.judge.verify.causes import decided_by_rounding

MODULES = {
    "conv1d": (torch.nn.Conv1d(4, 6, 3, padding=1), (2, 4, 20)),
    "conv2d": (torch.nn.Conv2d(8, 6, 3, groups=2), (2, 8, 12, 12)),
    "conv3d": (torch.nn.Conv3d(3, 5, 3), (1, 3, 6, 6, 6)),
    "transposed": (torch.nn.ConvTranspose2d(4, 6, 3, stride=2), (2, 4, 8, 8)),
    "nested": (torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU()), (2, 3, 9, 9)),
}


def off(module, x):
    """How far a run is from float64, in its largest value."""
    exact = module.double()(x.double())
    result = module.float()(x)
    return float(((result - exact).abs().max() / exact.abs().max()).detach())


@pytest.mark.parametrize("name", MODULES)
def test_a_convolution_is_off_as_tf32_is_and_only_inside(name):
    module, shape = MODULES[name]
    x = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    assert off(module, x) < 1e-6
    exact = module.double()(x.double())
    module.float()
    with RoundedConvolutions():
        inside = module(x)
    error = float(((inside - exact).abs().max() / exact.abs().max()).detach())
    assert 1e-5 < error < 2e-3
    assert off(module, x) < 1e-6


def test_products_and_other_types_stay_as_they_are():
    a, b = torch.randn(8, 8), torch.randn(8, 8)
    wide = torch.nn.Conv2d(3, 4, 3, dtype=torch.float64)
    x = torch.randn(1, 3, 8, 8, dtype=torch.float64)
    plain, convolved = a @ b, wide(x)
    with RoundedConvolutions():
        assert torch.equal(a @ b, plain)
        assert torch.equal(wide(x), convolved)


def test_on_a_processor_nothing_is_rounded():
    assert not may_be_rounded("cpu")


CONVOLVES = """
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(4, 4, 3)

    def forward(self, x):
        return torch.relu(self.conv(x))

def get_inputs():
    return [torch.randn(2, 4, 10, 10)]

def get_init_inputs():
    return []
"""


@pytest.mark.parametrize("is_allowed", [False, True])
def test_what_the_library_may_round_a_candidate_may(is_allowed, monkeypatch):
    monkeypatch.setattr(study, "may_be_rounded", lambda device: is_allowed)
    reference = Oracle(Task("conv", "test", CONVOLVES), "cpu", 1)
    expected = reference.expectations.of(reference.first, reference.first_arguments)
    assert (expected.outputs[0].allowed > 1e-4) == is_allowed


def test_errors_of_tf32_are_told():
    """A comparison with float32 at 1e-4 would fail."""
    own = [torch.randn(4, 8)]
    expected = expect(own, [own[0].double()], [0.0])
    wider = for_convolutions(expected, lambda: [own[0] * 1.001], is_own=True)
    assert compare(own, wider).warnings == ()
    (warned,) = compare([own[0] * 1.0005], wider).warnings
    assert warned.code is WarningCode.TF32


def test_full_precision_allows_no_tf32(monkeypatch):
    monkeypatch.setattr(study, "may_be_rounded", lambda device: True)
    reference = Oracle(Task("conv", "test", CONVOLVES).in_precision("fp32"), "cpu", 1)
    expected = reference.expectations.of(reference.first, reference.first_arguments)
    assert expected.outputs[0].allowed < 1e-5 and not reference.profile.precision


@pytest.mark.parametrize("is_own", [False, True])
def test_where_rounding_explains_anything_it_is_no_yardstick(is_own):
    """A small difference of large numbers: zeros would be as near as TF32 is."""
    own = [torch.randn(4, 8)]
    expected = expect(own, [own[0].double()], [0.0])
    near = for_convolutions(expected, lambda: [own[0] * 1.001], is_own=is_own)
    assert near.outputs[0].allowed > 1e-3
    found = for_convolutions(expected, lambda: [own[0] * 1.5], is_own=is_own)
    assert found is (expected if is_own else None)


@pytest.fixture
def library_with_tf32(monkeypatch):
    """The reference's convolutions round to TF32, as a GPU's do."""
    call = Forward._call

    def rounded(self, module, given):
        with RoundedConvolutions():
            return call(self, module, given)

    monkeypatch.setattr(study, "may_be_rounded", lambda device: True)
    monkeypatch.setattr(Forward, "_call", rounded)


def test_it_is_said_that_convolutions_in_tf32_decide_the_results(library_with_tf32):
    y = "torch.sigmoid(self.conv(x))"
    steps = (
        f"y = {y}\n        for _ in range(13):\n            y = 4 * y * (1 - y)\n        return y"
    )
    chaotic = CONVOLVES.replace("return torch.relu(self.conv(x))", steps)
    oracle = Oracle(Task("chaotic", "builtin", chaotic), "cpu", secret=1)
    assert "its convolutions round to TF32" in decided_by_rounding(oracle, oracle.first)
    plain = Oracle(Task("plain", "builtin", CONVOLVES), "cpu", secret=1)
    assert decided_by_rounding(plain, plain.first) == ""
