"""A reward worker on a device with few slots for judges never keeps a slot."""

from types import SimpleNamespace
from typing import ClassVar

import pytest
from tests.null.archive.nouns import verdict

from kernelwright.core.device import Device
from kernelwright.core.errors import DeviceError
from kernelwright.core.outcome import Status
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.train import reward_worker
from kernelwright.train.reward_worker import PolicyAnswer, RewardWorker

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
    """A judge that refuses everything and records which tasks were opened."""

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
def worker(tmp_path, monkeypatch):
    monkeypatch.setattr(reward_worker.SharedForkServerProcess, "__enter__", lambda program: None)
    monkeypatch.setattr(
        reward_worker.SharedForkServerProcess, "__exit__", lambda program, *error: None
    )
    for name in ("add_task", "add_proposal", "add_evaluation"):
        monkeypatch.setattr(reward_worker.Archive, name, lambda *given: None)
    monkeypatch.setattr(reward_worker.Archive, "start_run", lambda *given: "run")
    monkeypatch.setattr(Refusing, "opened", [])
    monkeypatch.setattr(Praising, "asked", [])
    settings = Settings(archive=f"sqlite:///{tmp_path}/archive.sqlite")
    opened = RewardWorker(settings, Device.parse("cpu"), timed=False)
    yield opened
    opened.close()


def test_a_failed_judge_releases_its_slot(worker, monkeypatch):
    """Otherwise its process would wait for that slot with the next task."""
    monkeypatch.setattr(reward_worker, "Judge", Broken)
    with pytest.raises(DeviceError):
        worker.judge([[PolicyAnswer(TASK, "torch", KERNEL)]])
    assert not Broken.is_open


def test_a_failing_judge_does_not_stop_other_tasks(worker, monkeypatch):
    monkeypatch.setattr(reward_worker, "Judge", lambda task, **how: (
        Broken(task) if task is TASK else Refusing(task)
    ))  # fmt: skip
    other = Task("another", "test", TASK.source + "\n")
    with pytest.raises(DeviceError):
        worker.judge([[PolicyAnswer(task, "torch", KERNEL)] for task in (TASK, other)])
    assert Refusing.opened == ["another"]


def test_a_task_with_an_open_judge_is_judged_first(worker, monkeypatch):
    """Reopening its judge would compile and time the library's settings again."""
    monkeypatch.setattr(reward_worker, "Judge", Refusing)
    other = Task("another", "test", TASK.source + "\n")
    worker.begin([PolicyAnswer(other, "torch", KERNEL)], may_time=False)
    told = [[PolicyAnswer(task, "torch", KERNEL)] for task in (TASK, other)]
    found = worker.judge(told)
    assert Refusing.opened == ["another", "a task"]
    assert [n_new for _, n_new in found] == [1, 1]


class Praising(Refusing):
    """A judge that passes everything and records its calls: (candidates, timed, is_sure)."""

    asked: ClassVar[list[tuple[int, bool, bool]]] = []

    def start_baselines(self):
        pass

    def evaluate_all(self, candidates, timed=True, is_sure=True):
        self.asked.append((len(candidates), timed, is_sure))
        for candidate in candidates:
            yield verdict(candidate, **({} if timed else {"timing": None}))


def test_a_tasks_answers_are_judged_together_without_starting_baselines_early(worker, monkeypatch):
    """Each process costs 0.3 s of the driver that all GPUs of a host share, and candidates that are
    judged together are built while others are timed."""
    monkeypatch.setattr(reward_worker, "Judge", Praising)
    worker.timed = True
    told = [PolicyAnswer(TASK, "torch", KERNEL.replace("pass", f"x = {n}")) for n in range(3)]
    ((found, n_new),) = worker.judge([[*told, told[0]]])
    assert [one.evaluation.passed for one in found] == [True] * 4 and n_new == 3
    assert Praising.asked == [(3, True, False)]


def test_all_answers_of_an_examination_are_built_ahead(worker, monkeypatch):
    monkeypatch.setattr(reward_worker, "Judge", Praising)
    worker.judge(
        [[PolicyAnswer(TASK, "torch", KERNEL.replace("pass", f"x = {n}")) for n in range(3)]]
    )
    assert Praising.asked == [(3, False, False)]
