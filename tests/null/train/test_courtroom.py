"""A courtroom on a device that bears few judges keeps no judge's chair, whatever happened."""

from types import SimpleNamespace

import pytest

from kernelwright.core.device import Device
from kernelwright.core.errors import DeviceError
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.train import courtroom
from kernelwright.train.courtroom import Answer, Courtroom

KERNEL = "```python\nclass ModelNew:\n    pass\n```"
TASK = Task("a task", "test", "class Model:\n    pass\n")


class Broken:
    """A judge on a shared device that fails."""

    place = SimpleNamespace(most_judges=6)
    is_open = False

    def __init__(self, task, **how):
        self.workload = SimpleNamespace(digest="none", task="none")

    def __enter__(self):
        Broken.is_open = True
        return self

    def __exit__(self, *error):
        Broken.is_open = False

    def evaluate(self, candidate, **how):
        raise DeviceError("the device failed", seen="error 46", do="try again")


def test_a_judge_that_failed_gives_its_chair_back(tmp_path, monkeypatch):
    """Its process would wait for that chair with the next task."""
    monkeypatch.setattr(courtroom, "Judge", Broken)
    monkeypatch.setattr(courtroom.WarmProgram, "__enter__", lambda program: None)
    monkeypatch.setattr(courtroom.WarmProgram, "__exit__", lambda program, *error: None)
    monkeypatch.setattr(courtroom.Archive, "add_task", lambda *given: None)
    monkeypatch.setattr(courtroom.Archive, "start_run", lambda *given: "run")
    monkeypatch.setattr(courtroom.Archive, "add_proposal", lambda *given: None)
    settings = Settings(archive=f"sqlite:///{tmp_path}/archive.sqlite")
    room = Courtroom(settings, Device.parse("cpu"), timed=False)
    with pytest.raises(DeviceError):
        room.sit([Answer(TASK, "torch", KERNEL)])
    assert not Broken.is_open
    room.close()
