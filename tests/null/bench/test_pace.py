"""How fast a suite went, from its archive and from the driver's library."""

import time

import pytest
from tests.null.archive.nouns import proposal, verdict

from kernelwright.archive import Archive
from kernelwright.bench import pace
from kernelwright.bench.pace import Pace, line
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task, Workload
from kernelwright.judge.devices import nvml


def judge_one(place):
    task, said = Task("t", "test", "class Model: pass"), proposal()
    workload = Workload(task.digest, (("float32", (64, 64)),))
    with Archive(place) as archive:
        archive.add_task(task, [workload])
        run = archive.start_run(task, Settings(archive=place))
        archive.add_proposal(run, said)
        found = verdict(said.candidate, task=task.digest, workload=workload.digest)
        archive.add_evaluation(run, found)


def test_a_pace_counts_what_came_while_it_was_measured(tmp_path, monkeypatch):
    place = str(tmp_path / "archive.sqlite")
    judge_one(place)
    monkeypatch.setattr(pace, "EVERY_S", 0.01)
    monkeypatch.setattr(nvml, "busy_share", lambda gpu: 0.25)
    with Pace(place, gpus=(0, 1)) as measured:
        judge_one(place)
        time.sleep(0.1)
    facts = measured.facts()
    assert facts["verdicts_per_s"] == pytest.approx(1 / facts["seconds"])
    assert facts["trials_per_s"] == 0 and facts["gpu_idle_shares"] == [0.75, 0.75]
    assert line(facts).endswith("verdicts a second; GPUs idle 75%, 75% of the time")


def test_without_a_gpu_no_idle_share_is_said(tmp_path):
    with Pace(str(tmp_path / "archive.sqlite")) as measured:
        pass
    assert "idle" not in line(measured.facts())
