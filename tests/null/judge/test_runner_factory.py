"""Children are as isolated as the machine allows, whatever makes the first one fail."""

import pytest

from kernelwright.core.device import Device
from kernelwright.core.outcome import ReasonCode
from kernelwright.judge.refusal import Refused
from kernelwright.judge.sandbox import runner_factory
from kernelwright.judge.sandbox.isolation import ChildOptions


class Backend:
    kind, reads_from_outside, visibility = "cuda", False, {}


class Server:
    def __init__(self, *_, **__):
        self.asked = []

    def fork(self, options):
        self.asked.append(options.refuse)


@pytest.fixture
def few(monkeypatch):
    """Children of a machine where the device fails in the first ones, with these words."""
    said = []

    class Runner:
        def __init__(self, *_, **__):
            pass

        def try_device(self):
            if said:
                raise Refused(ReasonCode.RAISED, said.pop())

        def close(self):
            pass

    monkeypatch.setattr(runner_factory, "ForkServer", Server)
    monkeypatch.setattr(runner_factory, "Runner", Runner)
    return runner_factory.RunnerFactory(Device.parse("cuda"), Backend(), threads=1), said


def test_a_guarantee_is_given_up_for_a_driver_that_does_not_start(few):
    made, said = few
    said.append("map: error 304, OS call failed")
    made.make([])
    assert made.fork_server(ChildOptions()).asked == [frozenset(), frozenset({"processes"})]


def test_a_child_that_lacks_memory_is_not_isolated_less(few):
    made, said = few
    said.append("map: AcceleratorError: CUDA error: out of memory")
    with pytest.raises(Refused, match="out of memory"):
        made.make([])
    made.make([])
    assert made.fork_server(ChildOptions()).asked == [frozenset(), frozenset()]
