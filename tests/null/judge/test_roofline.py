"""A time that is too short for the reference's arithmetic is known from the device's rate."""

import pytest
import torch

from kernelwright.core.device import Device
from kernelwright.judge.devices import roofline
from kernelwright.judge.devices.backend import backend_of
from kernelwright.judge.devices.roofline import Arithmetic, Copying, peak_flops_per_s, surely_ns

CPU = backend_of(Device.parse("cpu"))
OUTPUTS = [torch.empty(4, device="meta")]


def test_more_than_the_device_can_do_is_seen_and_less_is_not():
    million = Arithmetic(CPU, 1e9, OUTPUTS)
    assert million.exceeds(1e3, library_ns=1e9)  # a million operations a nanosecond
    assert not million.exceeds(1e9 * 1e3, library_ns=1e12)  # one a microsecond


def test_where_no_arithmetic_is_counted_no_time_is_too_short():
    assert not Arithmetic(CPU, 0, OUTPUTS).exceeds(1e-9, library_ns=1e9)


def test_a_rate_that_the_library_exceeds_is_not_believed():
    assert surely_ns(760e3, 300e3) == 75e3  # measured while others used the device
    assert surely_ns(60e3, 300e3) == 60e3


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_highest_rate_is_above_what_a_product_reaches(dtype):
    assert 1e9 < peak_flops_per_s(CPU, dtype) < 1e18


@pytest.mark.parametrize(("bytes_per_s", "n_facts"), [(2e9, 2), (float("inf"), 0)])
def test_a_rate_that_could_not_be_measured_is_not_reported(bytes_per_s, n_facts, monkeypatch):
    monkeypatch.setattr(roofline, "copied_bytes_per_s", lambda backend: bytes_per_s)
    copying = Copying(CPU, 10**9)
    assert not copying.facts()
    copying.measure()
    assert len(copying.facts()) == n_facts
    assert bool(copying.leaves_nothing(0.6e9)) == bool(n_facts)
    assert not copying.leaves_nothing(0.7e9) and not copying.leaves_nothing(0.1e9)
