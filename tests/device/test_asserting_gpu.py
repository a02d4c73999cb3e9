"""What asserts on a GPU is refused before it does.

Run with: python -m pytest -q tests/device/test_asserting_gpu.py
"""

from __future__ import annotations

import pytest
import torch
from tests.null.judge.asserting_calls import CALLS

from kernelwright.judge.reference.asserting import HostFirst

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU"),
]


@pytest.mark.parametrize("name", CALLS)
def test_bad_arguments_raise_and_the_gpu_lives(name):
    guard = HostFirst("cuda")
    values, places = torch.rand(4, 5, device="cuda") - 3, torch.arange(4, device="cuda") + 4000
    with guard(), torch.no_grad(), pytest.raises((RuntimeError, IndexError, ValueError)):
        CALLS[name](values, places)
    torch.cuda.synchronize()


@pytest.mark.parametrize("name", CALLS)
def test_good_arguments_give_what_they_give_on_the_host(name):
    values = torch.rand(4, 5).half()
    guard = HostFirst("cuda")
    with guard(), torch.no_grad():
        found = CALLS[name](values.cuda(), torch.arange(4, device="cuda"))
    if found is not None and name not in ("bernoulli", "multinomial"):
        expected = CALLS[name](values.float(), torch.arange(4))
        torch.testing.assert_close(found.cpu().float(), expected.float(), rtol=5e-3, atol=5e-3)
