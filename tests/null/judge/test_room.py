"""How much memory judging takes is told from a task's text, whatever its forward does."""

import time

import pytest

from kernelwright.core.task import Task
from kernelwright.judge.machine import room
from kernelwright.judge.machine.room import (
    CONTEXTS_BYTES,
    COPIES,
    LIBRARY_COPIES,
    held_bytes,
    needed_bytes,
    wait_for_room,
)

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


def needed(forward: str, **how: bool) -> int:
    return needed_bytes(Task("a task", "test", TASK.format(forward=forward)), **how)


def test_inputs_weights_and_results_count_several_times():
    whole = GIVEN_BYTES + RESULT_BYTES
    assert needed("return x * self.weight") == CONTEXTS_BYTES + COPIES * whole
    told = needed("return x * self.weight", for_library=True)
    assert told == CONTEXTS_BYTES + LIBRARY_COPIES * whole


@pytest.mark.parametrize("forward", ["assert x.sum() > 0; return x", "return x.nothing", "exit()"])
def test_a_forward_that_needs_its_data_stops_nobody(forward):
    assert needed(forward) == CONTEXTS_BYTES + COPIES * GIVEN_BYTES


def test_what_a_forward_prints_is_not_said_to_whoever_reads_our_answer(capsys):
    needed("print('here'); return x")
    assert not capsys.readouterr().out


class Device:
    """One with 100 bytes, of which a driver takes a while to take any back."""

    def __init__(self):
        self.free, self.comes_free, self.looks = 5, 0, 0

    def memory_bytes(self):
        return 100

    def free_bytes(self):
        self.looks += 1
        return self.free + (self.comes_free if self.looks > 3 else 0)


@pytest.mark.parametrize(("holds", "blamed"), [(90, 90), (40, 0)])
def test_who_held_most_of_the_memory_is_told_by_what_comes_free(monkeypatch, holds, blamed):
    monkeypatch.setattr(room, "RELEASED_S", 0.2)
    device = Device()

    def end():
        device.comes_free = holds

    assert held_bytes(device, end) == blamed


def test_what_another_gives_back_is_not_blamed_on_who_is_ended(monkeypatch):
    monkeypatch.setattr(room, "RELEASED_S", 0.2)
    freed_s = time.monotonic() + 0.05
    device = Device()
    device.free_bytes = lambda: 5 if time.monotonic() < freed_s else 95
    assert held_bytes(device, lambda: None) == 0


@pytest.mark.parametrize(("comes_free", "looks"), [(90, 4), (0, 21)])
def test_who_lacked_memory_waits_for_it_a_while(monkeypatch, comes_free, looks):
    monkeypatch.setattr(room, "RELEASED_S", 0.2)
    monkeypatch.setattr(room, "WAIT_S", 0.2)
    device = Device()
    device.most_judges, device.comes_free = 5, comes_free
    wait_for_room(device, Task("a task", "test", TASK.format(forward="return x")))
    assert device.looks <= looks and (device.free_bytes() > 50) == bool(comes_free)
