"""Overwriting a call's inputs on a GPU when the child signals completion.

Run with: python -m pytest -q tests/device/test_input_poisoner_gpu.py
"""

from __future__ import annotations

import time

import pytest
import torch

from kernelwright.core.device import Device
from kernelwright.judge.devices import gpu
from kernelwright.judge.devices.gpu import GpuBackend
from kernelwright.judge.devices.input_poisoner import WINDOW_BYTES

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU"),
]


@pytest.fixture(scope="module")
def backend():
    return GpuBackend(Device.parse("cuda"))


@pytest.mark.parametrize("holds_device", [False, True])
@pytest.mark.parametrize("n_bytes", [4096, 12288, 100 << 20])
def test_inputs_are_overwritten_at_completion_and_come_back(backend, n_bytes, holds_device):
    inputs = torch.randint(0, 200, (n_bytes,), dtype=torch.uint8, device="cuda")
    before = inputs.clone()
    torch.cuda.synchronize()
    with backend.input_poisoner(inputs, is_exclusive=True, holds_device=holds_device) as poison:
        poison()  # nothing else may be started before: a new kernel is loaded when all is done
        assert (inputs == 0xFF).sum() == min(n_bytes, WINDOW_BYTES)
    assert torch.equal(inputs, before)


@pytest.mark.parametrize("holds_device", [False, True])
def test_a_device_goes_on_where_no_child_signals(backend, holds_device):
    inputs = torch.zeros(1 << 20, dtype=torch.uint8, device="cuda")
    torch.cuda.synchronize()
    with (
        pytest.raises(RuntimeError, match="no signal"),
        backend.input_poisoner(inputs, is_exclusive=True, holds_device=holds_device),
    ):
        raise RuntimeError("no signal")
    torch.cuda.synchronize()
    assert not inputs.any()


def test_nothing_is_overwritten_after_the_device_was_released(backend):
    inputs = torch.zeros(1 << 20, dtype=torch.uint8, device="cuda")
    torch.cuda.synchronize()
    with backend.input_poisoner(inputs, is_exclusive=True, holds_device=True) as poison:
        time.sleep(gpu.HOLD_NS / 1e9 + 0.2)
        poison()
        assert not inputs.any()
    assert not inputs.any()
