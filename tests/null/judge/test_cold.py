"""Cold calls find no caches warm: the one setting of timing that no verdict would miss."""

import statistics
import time

import pytest
import torch

from kernelwright.core.device import Device
from kernelwright.judge.children.runner import Call
from kernelwright.judge.machine.place import place_of
from kernelwright.judge.timing.rounds import Stopwatch

N_CALLS, N_NUMBERS = 31, 1 << 15  # numbers that lie in a core's own caches: 128 kB


class Reader:
    """A runner in this process whose call reads the same numbers every time."""

    def __init__(self):
        self.numbers = torch.ones(N_NUMBERS)

    def put(self, arguments):
        self.numbers.sum()  # what was read just now is warm, unless somebody flushes

    def call(self, *, limit_s, take, glance):
        begin_ns = time.perf_counter_ns()
        self.numbers.sum()
        return Call(time.perf_counter_ns() - begin_ns, [], None)


def median_ns(cache):
    stopwatch, reader = Stopwatch(place_of(Device("cpu")), cache=cache, limit_s=1.0), Reader()
    times = [stopwatch.turn(reader, []).elapsed_ns for _ in range(N_CALLS)]
    return statistics.median(times)


@pytest.fixture
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_a_cold_call_reads_from_memory_and_a_warm_one_does_not(one_thread):
    # Ten times as long on a Zen 5.
    warm, cold = zip(*((median_ns("warm"), median_ns("cold")) for _ in range(3)), strict=True)
    assert min(cold) > 2 * min(warm), (warm, cold)
