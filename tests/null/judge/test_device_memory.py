"""The memory that judging takes is estimated from a task's text, whatever its forward does."""

from types import SimpleNamespace

import pytest
import torch

from kernelwright.core.errors import DeviceError
from kernelwright.core.evaluation import Environment
from kernelwright.core.outcome import ReasonCode
from kernelwright.core.task import Task
from kernelwright.judge.refusal import Refused, memory_apart
from kernelwright.judge.sandbox.child import ChildEnded
from kernelwright.judge.sandbox.runner import how_it_ended
from kernelwright.judge.scheduling import memory
from kernelwright.judge.scheduling.memory import (
    CONTEXTS_BYTES,
    COPIES,
    LIBRARY_COPIES,
    RELEASED_S,
    blamed_on_memory,
    held_bytes,
    lacked_memory,
    needed_bytes,
    too_much,
    wait_for_memory,
    with_enough_memory,
    within_its_part,
)
from kernelwright.judge.submission import EvaluationBuilder, Subject

TASK = """
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(1000))

    def forward(self, x):
        {forward}

def get_inputs():
    return [torch.rand(20, 1000)]

def get_init_inputs():
    return []
"""
GIVEN_BYTES, RESULT_BYTES = 4 * 21_000, 4 * 20_000


def needed(forward: str, *, for_library: bool = False) -> int:
    task = Task("a task", "test", TASK.format(forward=forward))
    return needed_bytes(task, for_library=for_library)


def test_inputs_weights_and_results_count_several_times():
    whole = GIVEN_BYTES + RESULT_BYTES
    assert needed("return x * self.weight") == CONTEXTS_BYTES + COPIES * whole
    alone = needed("return x * self.weight", for_library=True)
    assert alone == CONTEXTS_BYTES + LIBRARY_COPIES * whole


@pytest.mark.parametrize("forward", ["assert x.sum() > 0; return x", "return x.nothing", "exit()"])
def test_a_forward_that_needs_its_data_is_no_error(forward):
    assert needed(forward) == CONTEXTS_BYTES + COPIES * GIVEN_BYTES


class Device:
    """One with 100 bytes, of which a driver takes a while to take any back."""

    def __init__(self):
        self.free, self.comes_free, self.looks = 5, 0, 0

    def memory_bytes(self):
        return 100

    def free_bytes(self):
        self.looks += 1
        return self.free + (self.comes_free if self.looks > 3 else 0)


@pytest.fixture
def clock(monkeypatch):
    """A time that passes for nobody but who sleeps."""
    now = SimpleNamespace(s=0.0)

    def sleep(seconds):
        now.s += seconds

    monkeypatch.setattr(memory, "time", SimpleNamespace(monotonic=lambda: now.s, sleep=sleep))
    return now


@pytest.mark.parametrize(("holds", "blamed"), [(90, 90), (40, 0)])
@pytest.mark.usefixtures("clock")
def test_a_candidate_that_held_most_of_the_memory_is_known_by_what_comes_free(holds, blamed):
    device = Device()

    def end():
        device.comes_free = holds

    assert held_bytes(device, end) == blamed


def test_memory_that_another_gives_back_is_not_blamed_on_the_ended_candidate(clock):
    device = Device()
    device.free_bytes = lambda: 5 if clock.s < RELEASED_S / 4 else 95
    assert held_bytes(device, lambda: None) == 0


@pytest.mark.parametrize(("comes_free", "looks"), [(90, 4), (0, 21)])
@pytest.mark.usefixtures("clock")
def test_a_judge_that_lacked_memory_waits_for_it_a_while(monkeypatch, comes_free, looks):
    monkeypatch.setattr(memory, "WAIT_S", RELEASED_S)
    device = Device()
    device.most_judges, device.comes_free = 5, comes_free
    wait_for_memory(device, Task("a task", "test", TASK.format(forward="return x")))
    assert device.looks <= looks and (device.free_bytes() > 50) == bool(comes_free)


class Shared(Device):
    """One that judges share."""

    most_judges = 5


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"),
        torch.AcceleratorError("CUDA error: out of memory\nSearch for `cudaErrorMemoryAllocation'"),
        RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
    ],
)
def test_want_of_a_gpus_memory_is_told_from_a_failure_of_a_task(error):
    with pytest.raises(MemoryError), memory_apart():
        raise error


def test_any_other_failure_stays_what_it_is():
    with pytest.raises(RuntimeError, match="sizes"), memory_apart():
        raise RuntimeError("sizes of tensors must match")


@pytest.mark.usefixtures("clock")
def test_a_judge_starts_anew_when_others_have_given_memory_back():
    task, device, tries = Task("a task", "test", TASK.format(forward="return x")), Shared(), []
    device.comes_free = 90

    def work():
        tries.append(device.free)
        if len(tries) < 3:
            raise torch.AcceleratorError("CUDA error: out of memory")

    with_enough_memory(work, device, task)
    assert len(tries) == 3


def test_a_judge_that_never_finds_memory_says_so(monkeypatch):
    monkeypatch.setattr(memory, "WAIT_S", 0.0)
    task = Task("a task", "test", TASK.format(forward="return x"))

    def work():
        raise torch.AcceleratorError("CUDA error: out of memory")

    with pytest.raises(DeviceError, match="a task does not fit in memory beside its judge"):
        with_enough_memory(work, Shared(), task)


@pytest.mark.parametrize(("holds", "error"), [(90, Refused), (0, MemoryError)])
@pytest.mark.usefixtures("clock")
def test_a_candidate_that_takes_most_of_the_memory_is_refused_and_one_beside_it_is_not(
    holds, error
):
    device = Shared()
    device.free = 95

    def end():
        device.free += holds

    with pytest.raises(error), within_its_part(device, end):
        device.free = 5


@pytest.mark.parametrize(("before", "after"), [(95, 20), (15, 5)])
def test_a_candidate_that_leaves_enough_or_took_little_is_not_ended(before, after):
    device, ended = Shared(), []
    device.free = before
    with within_its_part(device, lambda: ended.append(True)):
        device.free = after
    assert not ended


@pytest.mark.parametrize(
    ("refused", "again"),
    [
        (too_much(70 << 30), True),
        (how_it_ended(ChildEnded(-9, "")), True),  # by Linux, where all memory is taken
        (how_it_ended(ChildEnded(None, "")), True),  # likewise, with its supervisor
        (how_it_ended(ChildEnded(-9, "", ReasonCode.TOOK_TOO_MUCH_MEMORY)), False),
        (how_it_ended(ChildEnded(-11, "")), False),
    ],
    ids=["blamed", "killed", "killed with its supervisor", "killed for its own", "crashed"],
)
def test_a_candidate_that_may_have_lacked_memory_is_judged_once_more(refused, again):
    subject = Subject("task", "workload", "candidate", Environment("cuda:sm_90", {}))
    found = EvaluationBuilder(subject, [], 0).conclude(refused.reason)
    assert lacked_memory(found) is again


OWN_WORDS = [
    "run: RuntimeError: out of memory",
    "run: OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
    "run: RuntimeError: it held 70 GiB of the device's memory, too much for the judge",
    "run: RuntimeError: the process died of signal 9",
]


@pytest.mark.parametrize("words", OWN_WORDS)
def test_a_candidates_own_words_buy_no_second_judgement(words):
    task, device = Task("a task", "test", TASK.format(forward="return x")), Shared()
    device.free = 95
    subject = Subject("task", "workload", "candidate", Environment("cuda:sm_90", {}))
    refused = blamed_on_memory(device, task, Refused(ReasonCode.RAISED, words))
    assert not lacked_memory(EvaluationBuilder(subject, [], 0).conclude(refused.reason))


@pytest.mark.parametrize(
    ("code", "free", "again"),
    [
        (ReasonCode.RAISED, 5, True),
        (ReasonCode.BUILD_RAISED, 5, True),
        (ReasonCode.CRASHED, 5, True),
        (ReasonCode.RAISED, 95, False),
        (ReasonCode.OUTPUT_VALUES, 5, False),
    ],
)
def test_a_failure_while_the_judge_sees_too_little_memory_is_judged_again(code, free, again):
    task, device = Task("a task", "test", TASK.format(forward="return x")), Shared()
    device.free = free
    seen = Refused(code, "run: ValueError: no", place="on inputs")
    refused = blamed_on_memory(device, task, seen)
    subject = Subject("task", "workload", "candidate", Environment("cuda:sm_90", {}))
    found = EvaluationBuilder(subject, [], 0).conclude(refused.reason)
    assert lacked_memory(found) is again and found.why == "on inputs: run: ValueError: no"
