"""Cold calls: between the arguments and the call all caches are read full of something else."""

import os

import pytest

from kernelwright.core.device import Device
from kernelwright.judge.devices.backend import backend_of
from kernelwright.judge.sandbox.calls import Call
from kernelwright.judge.sandbox.unwritten_pages import is_told, unwritten
from kernelwright.judge.timing import stopwatch
from kernelwright.judge.timing.stopwatch import CacheFlush, Stopwatch

CPU = backend_of(Device("cpu"))


class Recorder:
    """A runner and a flush that note the order in which they are asked."""

    def __init__(self):
        self.asked = []

    def put(self, arguments):
        self.asked.append("put")

    def flush(self, backend):
        return lambda: self.asked.append("flush")

    def call(self, *, limit_s, take, samples, holds_device):
        self.asked.append("call")
        return Call(1_000, [], None)


@pytest.mark.parametrize(
    "cache, wanted", [("cold", ["put", "flush", "call"]), ("warm", ["put", "call"])]
)
def test_a_cold_call_comes_after_a_flush_and_a_warm_one_does_not(monkeypatch, cache, wanted):
    recorder = Recorder()
    monkeypatch.setattr(stopwatch, "CacheFlush", recorder.flush)
    Stopwatch(CPU, cache=cache, limit_s=1.0).call(recorder, [])
    assert recorder.asked == wanted


def test_a_flush_reads_more_than_the_cache_in_memory_of_its_own():
    """Zeros that nobody has written are one page, which a core keeps."""
    buffer = CacheFlush(CPU)._buffer
    n_bytes = buffer.numel() * buffer.element_size()
    assert n_bytes >= 2 * CPU.last_level_cache_bytes()
    if not is_told():
        pytest.skip("this machine does not tell of pages")
    start = buffer.data_ptr()
    assert unwritten(os.getpid(), start, start + n_bytes) == (0, 0)
