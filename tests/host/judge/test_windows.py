"""Windows of calls in a child: what comes back belongs to the inputs, and what is refused."""

import contextlib
import pickle

import pytest
import torch
from tests.host.relu_task import RIGHT, TASK

from kernelwright.core.candidate import Candidate
from kernelwright.core.device import Device
from kernelwright.core.outcome import ReasonCode, Status
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.judge import Judge
from kernelwright.judge.machine import Machine
from kernelwright.judge.reference.oracle import Oracle
from kernelwright.judge.refusal import Refused
from kernelwright.judge.sandbox.program import LibrarySetup, Program
from kernelwright.judge.timed_inputs import TimedInputs
from kernelwright.judge.timing.stopwatch import MOST_CALLS, MOST_EVENED, Stopwatch
from kernelwright.judge.verify.verification import Verification

SMALL = TASK.replace("512, 512", "64")
KNOWN_US = 100
WAITS = """
import time, torch
class ModelNew(torch.nn.Module):
    def forward(self, x):
        end_ns = time.perf_counter_ns() + 100_000
        while time.perf_counter_ns() < end_ns:
            pass
        return torch.relu(x) * 2 + 1
"""
IN_ONE_BUFFER = """
import torch
class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.n_calls = 0
    def forward(self, x):
        self.n_calls += 1
        if self.n_calls % 50 == 1:
            self.results = [torch.empty_like(x) for _ in range(25)]
        place = self.results[self.n_calls % 25]
        return torch.add(torch.relu(x) * 2, 1, out=place)
"""
PUTS_OFF = """
import sys, torch
class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.waiting = []
    def forward(self, x):
        y, frame = torch.empty_like(x), sys._getframe()
        self.waiting.append((x, y))
        while frame is not None and "go" not in frame.f_locals:
            frame = frame.f_back
        if len(self.waiting) >= (len(frame.f_locals["go"].order) if frame else 1):
            for one, result in self.waiting:
                torch.add(torch.relu(one) * 2, 1, out=result)
            self.waiting.clear()
        return y
"""


@contextlib.contextmanager
def running(source, fork_server):
    machine = Machine.of(Device.parse("cpu"), threads=1, fork_server=fork_server)
    machine.backend.times_windows = True  # as on a GPU
    machine.factory.start()
    oracle = Oracle(Task("relu", "builtin", SMALL), "cpu", 5)
    inputs = TimedInputs(oracle, 1e9)
    stopwatch = Stopwatch(machine.backend, cache="cold", limit_s=10.0, inputs=inputs)
    with (
        contextlib.closing(machine.factory),
        contextlib.closing(machine.factory.make(oracle.example)) as runner,
    ):
        program = Program(source, "ModelNew", pickle.dumps([]), 0, LibrarySetup())
        runner.build(program, {}, oracle.first_arguments, limit_s=60.0)
        yield stopwatch, runner, oracle


def test_outputs_are_those_of_their_inputs_and_the_last_call_comes_last(fork_server):
    with running(RIGHT, fork_server) as (stopwatch, runner, _):
        assert 1 < stopwatch.n_calls(runner) <= MOST_CALLS
        order = [7, 1, 0, 9, 3, 2]
        inputs = {place: stopwatch.inputs_of(500 + place) for place in order}
        window = stopwatch.window(runner, inputs, [1, 2, 3])
        assert window.n_calls == len(window.claims) == 6
        assert set(window.calls) == {1, 2, 3} and window.last is window.calls[2]
        for place, call in window.calls.items():
            [x] = inputs[place].arguments
            assert torch.equal(call.outputs[0], torch.relu(x) * 2 + 1)
            assert window.written[place] == [False]


WRITES_TO_INPUTS = RIGHT.replace("torch.clamp(x, min=0)", "torch.clamp(x, min=0, out=x).clone()")


@pytest.mark.parametrize("are_open", [True, False])
@pytest.mark.parametrize("source, is_right", [(RIGHT, True), (WRITES_TO_INPUTS, False)])
def test_a_call_that_is_alone_in_its_window_has_written_to_its_inputs_or_not(
    source, is_right, are_open, fork_server
):
    """Long calls and large inputs leave room for one call in a window: it has the ring's memory on
    a GPU, and that of single calls where there is no ring."""
    with running(source, fork_server) as (stopwatch, runner, oracle):
        if are_open:
            stopwatch.windows_of(runner).open(stopwatch.inputs.form, 3)
        inputs = {0: stopwatch.inputs_of(500)}
        runner.put(stopwatch.inputs_of(400).arguments)
        window = stopwatch.window(runner, inputs, [0])
        verification = Verification(oracle, runner, 5)
        given = {0: inputs[0].arguments}
        if is_right:
            verification.look_at_window(given, window)
            return
        with pytest.raises(Refused) as refused:
            verification.look_at_window(given, window)
        assert refused.value.code is ReasonCode.WROTE_TO_INPUTS


def test_modules_of_one_contest_have_windows_of_as_many_calls(fork_server):
    with running(RIGHT, fork_server) as (stopwatch, runner, _):
        n = stopwatch.n_calls(runner)
        stopwatch.windows_of(runner).sizes[False] = n // 2
        with running(RIGHT, fork_server) as (_, other, _):
            stopwatch.windows_of(other).sizes[False] = n // 3
            stopwatch.even({"one": runner, "other": other})
            assert stopwatch.n_calls(runner) == stopwatch.n_calls(other) == n // 2
            stopwatch.windows_of(other).sizes[False] = 1
            stopwatch.even({"one": runner, "other": other})
            assert stopwatch.n_calls(other) == MOST_EVENED


def test_calls_on_a_cpu_are_timed_one_by_one(fork_server):
    with running(RIGHT, fork_server) as (stopwatch, runner, _):
        stopwatch.backend.times_windows = Machine.of(
            Device.parse("cpu"), threads=1
        ).backend.times_windows
        assert stopwatch.n_calls(runner) == 1
        assert not stopwatch.windows_of(runner).are_open


def test_a_window_tells_the_time_of_a_call_where_a_single_call_does_not(fork_server):
    with running(WAITS, fork_server) as (stopwatch, runner, _):
        stopwatch.prioritise(runner)
        n = stopwatch.n_calls(runner)
        assert 1 < n <= 64
        inputs = {place: stopwatch.inputs_of(place) for place in range(n)}
        windows = []
        for _ in range(8):
            windows.append(stopwatch.window(runner, inputs).call_ns / 1e3)
            stopwatch.rest(runner)
        assert KNOWN_US <= min(windows) < 1.3 * KNOWN_US


@pytest.mark.usefixtures("few_settings")
def test_results_that_come_back_or_are_put_off_within_a_window_are_refused(fork_server):
    task = Task("relu", "builtin", SMALL)
    judge = Judge(task, settings=Settings(threads=1), fork_server=fork_server)
    judge.machine.backend.times_windows = True  # as on a GPU
    with judge:
        found = judge.evaluate(Candidate(IN_ONE_BUFFER, "torch"))
        off = judge.evaluate(Candidate(PUTS_OFF, "torch"))
        honest = judge.evaluate(Candidate(RIGHT, "torch"))
    assert found.reasons[0].code in (ReasonCode.OUTPUT_REUSED, ReasonCode.OUTPUT_OVERWRITTEN)
    assert honest.passed, honest.why
    assert off.status is Status.WRONG_VALUES, off.why
    timing = honest.timing
    assert timing.calls["candidate"] > 1 and timing.floor_ns > 0
    assert min(timing.latency_ns["candidate"]) > timing.median_ns("candidate")
