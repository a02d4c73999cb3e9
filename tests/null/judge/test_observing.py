"""Watching a call of the reference does not change what it gives."""

import pytest
import torch
import torch.nn.functional as F

from kernelwright.judge.reference.observed import observe

CALLS = {
    "nearest": lambda x: F.silu(F.interpolate(x * 2, scale_factor=(1.3, 1.5), mode="nearest")),
    "bilinear": lambda x: F.interpolate(x, scale_factor=(1.3, 1.5), mode="bilinear"),
    "linear": lambda x: F.linear(x, x[0, 0]),
    "norm": lambda x: F.layer_norm(x, (64,)),
    "pool": lambda x: F.adaptive_avg_pool2d(x, (2, 7)),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@torch.no_grad()
def test_what_is_observed_is_what_runs(call) -> None:
    x = torch.randn(32, 16, 3, 64)
    seen = observe(lambda: call(x), [x])
    assert torch.equal(seen.outputs[0], call(x))


@torch.no_grad()
def test_products_are_counted_in_whatever_is_made_of_them() -> None:
    x, weight = torch.randn(8, 16), torch.randn(4, 16)
    image, kernel = torch.randn(1, 2, 5, 5), torch.randn(3, 2, 3, 3)
    assert observe(lambda: F.linear(x, weight), [x]).flops == 2 * 8 * 16 * 4
    found = observe(lambda: F.conv2d(image, kernel), [image])
    assert found.flops == 2 * 3 * 3 * 3 * 2 * 3 * 3 and found.convolves
