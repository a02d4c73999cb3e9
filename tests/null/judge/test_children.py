"""Children are as isolated as the machine allows, whatever makes the first one fail."""

import pytest

from kernelwright.core.device import Device
from kernelwright.core.outcome import ReasonCode
from kernelwright.judge.children import children
from kernelwright.judge.refusal import Refused


class Place:
    kind, reads_from_outside, sight = "cuda", False, {}


class Zygote:
    def __init__(self, *_, **__):
        self.asked = []

    def fork(self, *, refuse, **_):
        self.asked.append(refuse)


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

    monkeypatch.setattr(children, "Zygote", Zygote)
    monkeypatch.setattr(children, "Runner", Runner)
    return children.Children(Device.parse("cuda"), Place(), threads=1), said


def test_a_driver_that_does_not_start_is_given_up_a_guarantee(few):
    made, said = few
    said.append("map: error 304, OS call failed")
    made.spawn({}, [])
    assert made.zygote({}).asked == [frozenset(), frozenset({"processes"})]


def test_whoever_lacks_memory_is_not_isolated_less(few):
    made, said = few
    said.append("map: AcceleratorError: CUDA error: out of memory")
    with pytest.raises(Refused, match="out of memory"):
        made.spawn({}, [])
    made.spawn({}, [])
    assert made.zygote({}).asked == [frozenset(), frozenset()]
