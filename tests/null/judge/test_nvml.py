"""What NVIDIA's management library tells of a GPU, by the binding's own answers and errors."""

import os
from types import SimpleNamespace

import pynvml
import pytest

from kernelwright.judge.devices import nvml


@pytest.fixture
def gpu(monkeypatch):
    """One GPU on which this process and process 7 work; its answers may be changed."""

    def refuse(*_):
        raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)

    answers = {
        "nvmlDeviceGetClockInfo": lambda gpu, clock: {pynvml.NVML_CLOCK_SM: 1980}.get(clock, 2619),
        "nvmlDeviceGetTemperature": refuse,
        "nvmlDeviceGetCurrentClocksThrottleReasons": lambda gpu: 0x01 | 0x04 | 0x80,
        "nvmlDeviceGetComputeRunningProcesses": lambda gpu: [
            SimpleNamespace(pid=pid) for pid in (os.getpid(), 7)
        ],
        "nvmlDeviceGetProcessUtilization": lambda gpu, since_us: [
            SimpleNamespace(pid=7, timeStamp=since_us + n, smUtil=percent)
            for n, percent in ((-1, 90), (0, 20), (1, 40))
        ],
    }
    monkeypatch.setattr(nvml, "_gpu", lambda index: "the GPU")
    for name, answer in answers.items():
        monkeypatch.setattr(pynvml, name, answer)
    return monkeypatch


def test_what_it_does_not_tell_is_left_out(gpu):
    assert nvml.facts(0, {os.getpid()}) == {
        "sm_mhz": 1980,
        "memory_mhz": 2619,
        "slowed_by": ["power cap", "power brake"],
        "other_processes": 1,
    }


def test_the_share_of_the_time_in_which_a_kernel_ran(gpu):
    gpu.setattr(pynvml, "nvmlDeviceGetUtilizationRates", lambda gpu: SimpleNamespace(gpu=25))
    assert nvml.busy_share(0) == 0.25
    gpu.setattr(pynvml, "nvmlDeviceGetUtilizationRates", pynvml.nvmlDeviceGetTemperature)
    with pytest.raises(nvml.Unknown):
        nvml.busy_share(0)


def test_neighbours_are_counted_from_the_moment_on(gpu):
    assert nvml.share_of_others(0, {os.getpid()}, since_s=10.0) == pytest.approx(0.3)
    assert nvml.share_of_others(0, {os.getpid(), 7}, since_s=10.0) == 0
    assert nvml.works_for(0, 7, since_s=10.0) and not nvml.works_for(0, 8, since_s=10.0)


@pytest.mark.parametrize(
    ("code", "share"),
    [
        (pynvml.NVML_SUCCESS, 0),  # as the binding raises for an empty list
        (pynvml.NVML_ERROR_NOT_FOUND, 0),
        (pynvml.NVML_ERROR_NOT_SUPPORTED, None),
    ],
)
def test_no_sample_is_no_neighbour_and_no_answer_is_unknown(gpu, code, share):
    def fail(*_):
        raise pynvml.NVMLError(code)

    gpu.setattr(pynvml, "nvmlDeviceGetProcessUtilization", fail)
    assert nvml.share_of_others(0, set(), since_s=1.0) == share


def test_processes_of_another_namespace_are_nobodys(gpu):
    gpu.setattr(
        pynvml, "nvmlDeviceGetComputeRunningProcesses", lambda gpu: [SimpleNamespace(pid=7)]
    )
    assert nvml.share_of_others(0, set(), since_s=1.0) is None
    assert "other_processes" not in nvml.facts(0, set())


def test_a_machine_without_the_library_says_that_it_is_unknown(monkeypatch):
    def absent():
        raise pynvml.NVMLError(pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)

    monkeypatch.setattr(pynvml, "nvmlInit", absent)
    with pytest.raises(nvml.Unknown, match="Not Found"):
        nvml.facts(97, set())
