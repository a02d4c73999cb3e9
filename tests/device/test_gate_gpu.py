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
from kernelwright.judge.machine.spoil import Ambush

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU"),
]


@pytest.fixture(scope="module")
def place():
    return Gpu(Device.parse("cuda"))


@pytest.mark.parametrize("n_bytes", [32, 1000, 100 << 20])
def test_inputs_are_destroyed_at_the_word_and_come_back(place, n_bytes):
    inputs = torch.randint(0, 200, (n_bytes,), dtype=torch.uint8, device="cuda")
    before = inputs.clone()
    ambush = Ambush(inputs, place)
    ambush()
    assert (inputs == 0xFF).sum() >= min(n_bytes // 16 * 16, 32 << 20)
    ambush.restore()
    assert torch.equal(inputs, before)


def test_where_the_word_comes_too_late_nothing_is_destroyed(place):
    inputs = torch.zeros(1 << 20, dtype=torch.uint8, device="cuda")
    ambush = Ambush(inputs, place)
    time.sleep(gate.SPAN_NS / 1e9 + 0.2)
    ambush()
    ambush.restore()
    assert not inputs.any()
