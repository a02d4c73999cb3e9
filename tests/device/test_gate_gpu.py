"""What the judge keeps a GPU by, until a word is said.

Run with: python -m pytest -q tests/device/test_gate_gpu.py
"""

from __future__ import annotations

import time

import pytest
import torch

from kernelwright.core.device import Device
from kernelwright.judge.machine import gate
from kernelwright.judge.machine.place import Gpu
from kernelwright.judge.machine.spoil import WINDOW_BYTES

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU"),
]


@pytest.fixture(scope="module")
def place():
    return Gpu(Device.parse("cuda"))


@pytest.mark.parametrize("in_ambush", [False, True])
@pytest.mark.parametrize("n_bytes", [4096, 12288, 100 << 20])
def test_inputs_are_destroyed_at_the_word_and_come_back(place, n_bytes, in_ambush):
    inputs = torch.randint(0, 200, (n_bytes,), dtype=torch.uint8, device="cuda")
    before = inputs.clone()
    torch.cuda.synchronize()
    with place.spoil(inputs, is_alone=True, in_ambush=in_ambush) as spoil:
        spoil()  # nothing else may be started before: a new kernel is loaded when all is done
        assert (inputs == 0xFF).sum() == min(n_bytes, WINDOW_BYTES)
    assert torch.equal(inputs, before)


@pytest.mark.parametrize("in_ambush", [False, True])
def test_a_device_goes_on_where_no_bell_rings(place, in_ambush):
    inputs = torch.zeros(1 << 20, dtype=torch.uint8, device="cuda")
    torch.cuda.synchronize()
    with (
        pytest.raises(RuntimeError, match="no bell"),
        place.spoil(inputs, is_alone=True, in_ambush=in_ambush),
    ):
        raise RuntimeError("no bell")
    torch.cuda.synchronize()
    assert not inputs.any()


def test_where_the_word_comes_too_late_nothing_is_destroyed(place):
    inputs = torch.zeros(1 << 20, dtype=torch.uint8, device="cuda")
    torch.cuda.synchronize()
    with place.spoil(inputs, is_alone=True, in_ambush=True) as ambush:
        time.sleep(gate.SPAN_NS / 1e9 + 0.2)
        ambush()
        assert not inputs.any()
    assert not inputs.any()
