"""A courtroom on a device that bears few judges keeps no judge's chair, whatever happened."""

from types import SimpleNamespace
from typing import ClassVar

import pytest
from tests.null.archive.nouns import verdict

from kernelwright.core.device import Device
from kernelwright.core.errors import DeviceError
from kernelwright.core.outcome import Status
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

    def evaluate_all(self, candidates, **how):
        for candidate in candidates:
            yield self.evaluate(candidate, **how)


class Refusing(Broken):
    """A judge that refuses everything; which opened is kept."""

    opened: ClassVar[list[str]] = []

    def __init__(self, task, **how):
        super().__init__(task)
        self.name = task.name

    def __enter__(self):
        self.opened.append(self.name)
        return self

    def evaluate(self, candidate, **how):
        return verdict(candidate, status=Status.WRONG_VALUES, timing=None)


@pytest.fixture
def room(tmp_path, monkeypatch):
    monkeypatch.setattr(courtroom.WarmProgram, "__enter__", lambda program: None)
    monkeypatch.setattr(courtroom.WarmProgram, "__exit__", lambda program, *error: None)
    for name in ("add_task", "add_proposal", "add_evaluation"):
        monkeypatch.setattr(courtroom.Archive, name, lambda *given: None)
    monkeypatch.setattr(courtroom.Archive, "start_run", lambda *given: "run")
    monkeypatch.setattr(Refusing, "opened", [])
    monkeypatch.setattr(Praising, "asked", [])
    settings = Settings(archive=f"sqlite:///{tmp_path}/archive.sqlite")
    opened = Courtroom(settings, Device.parse("cpu"), timed=False)
    yield opened
    opened.close()


def test_a_judge_that_failed_gives_its_chair_back(room, monkeypatch):
    """Its process would wait for that chair with the next task."""
    monkeypatch.setattr(courtroom, "Judge", Broken)
    with pytest.raises(DeviceError):
        room.sit([[Answer(TASK, "torch", KERNEL)]])
    assert not Broken.is_open


def test_what_one_task_s_judge_fails_at_does_not_stop_the_others(room, monkeypatch):
    monkeypatch.setattr(courtroom, "Judge", lambda task, **how: (
        Broken(task) if task is TASK else Refusing(task)
    ))  # fmt: skip
    other = Task("another", "test", TASK.source + "\n")
    with pytest.raises(DeviceError):
        room.sit([[Answer(task, "torch", KERNEL)] for task in (TASK, other)])
    assert Refusing.opened == ["another"]


def test_what_was_begun_goes_on_before_its_judge_would_close(room, monkeypatch):
    """Opened again, it would compile and measure the library's settings again."""
    monkeypatch.setattr(courtroom, "Judge", Refusing)
    other = Task("another", "test", TASK.source + "\n")
    room.begin([Answer(other, "torch", KERNEL)], may_time=False)
    told = [[Answer(task, "torch", KERNEL)] for task in (TASK, other)]
    found = room.sit(told)
    assert Refusing.opened == ["another", "a task"]
    assert [n_new for _, n_new in found] == [1, 1]


class Praising(Refusing):
    """A judge that finds everything right; how many it was given at once, whether they were timed
    and whether it was sure that something would be, is kept."""

    asked: ClassVar[list[tuple[int, bool, bool]]] = []

    def start_baselines(self):
        pass

    def evaluate_all(self, candidates, timed=True, is_sure=True):
        self.asked.append((len(candidates), timed, is_sure))
        for candidate in candidates:
            yield verdict(candidate, **({} if timed else {"timing": None}))


def test_each_answer_has_one_process_and_no_library_setting_starts_before_one_is_right(
    room, monkeypatch
):
    """A process costs a third of a second of the driver of all GPUs of a host; what is judged
    together is built while others are timed."""
    monkeypatch.setattr(courtroom, "Judge", Praising)
    room.timed = True
    told = [Answer(TASK, "torch", KERNEL.replace("pass", f"x = {n}")) for n in range(3)]
    ((found, n_new),) = room.sit([[*told, told[0]]])
    assert [one.evaluation.passed for one in found] == [True] * 4 and n_new == 3
    assert Praising.asked == [(3, True, False)]


def test_all_answers_of_an_examination_are_built_ahead(room, monkeypatch):
    monkeypatch.setattr(courtroom, "Judge", Praising)
    room.sit([[Answer(TASK, "torch", KERNEL.replace("pass", f"x = {n}")) for n in range(3)]])
    assert Praising.asked == [(3, False, False)]
