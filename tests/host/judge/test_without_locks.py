"""A judge runs on the machine that it is given, whatever locks that has."""

import contextlib
import dataclasses

from tests.host.relu_task import RIGHT, TASK, WRONG

from kernelwright.core.candidate import Candidate
from kernelwright.core.device import Device
from kernelwright.core.outcome import Status
from kernelwright.core.task import Task
from kernelwright.judge import Judge
from kernelwright.judge.machine import Machine


class Unlocked:
    """The lock of a device that nobody else uses."""

    def __init__(self):
        self.n_shared = 0

    @contextlib.contextmanager
    def shared(self, runner=None):
        self.n_shared += 1
        yield None

    def exclusive(self):
        return contextlib.nullcontext()

    retrying = exclusive


def test_a_candidate_is_judged_without_file_locks(fork_server):
    machine = Machine.of(Device.parse("cpu"), threads=1, fork_server=fork_server)
    lock = Unlocked()
    machine = dataclasses.replace(machine, device_lock=lock)
    with Judge(Task("relu", "builtin", TASK), machine=machine) as judge:
        right = judge.evaluate(Candidate(RIGHT, "torch"), timed=False)
        wrong = judge.evaluate(Candidate(WRONG, "torch"), timed=False)
    assert right.passed, right.why
    assert wrong.status is Status.WRONG_VALUES
    assert lock.n_shared > 2
