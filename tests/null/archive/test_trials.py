"""Trials are kept with the outlines of their programs, and read back by task and device."""

import dataclasses
import sqlite3
from contextlib import closing

import pytest
import sqlalchemy as sa
from tests.null.archive.nouns import TASK
from tests.null.archive.test_before import made_at, put

from kernelwright.archive import Archive, rows
from kernelwright.core.evaluation import Environment
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.core.trial import Outline, StepOutline, Trial, TrialOutcome

HERE = Environment("cpu", {"cpu": "a 2-core machine"})
STEP = StepOutline("step", "nest", {"row": 1, "exp": 2}, {"bytes": 4096.0, "rows": 8})
OUTLINE = Outline((STEP,))


def trial(name, **parts):
    measured = {"time_ns": 100.0, "reference_ns": 200.0, "n_samples": 8, "outline": OUTLINE}
    measured |= {"low_ns": 98.0, "high_ns": 105.0}
    told = {"variant": "fused", "kernels": {"step": {"block": 64}}}
    return Trial(name, "cpp", TrialOutcome.MEASURED, told, **measured | parts)


@pytest.fixture
def archive(path):
    with Archive(path) as opened:
        yield opened


@pytest.fixture
def run(archive):
    archive.add_task(TASK)
    return archive.start_run(TASK, Settings())


def test_a_trial_comes_back_with_its_outline(archive, run):
    failed = Trial("c", "cpp", TrialOutcome.FAILED, detail="no compiler")
    archive.add_trials(run, HERE, 1, [trial("a"), trial("b"), failed])
    found = archive.trials(TASK.digest, environment=HERE.digest, version=1)
    assert found == [trial("a"), trial("b"), failed]


def test_a_trial_that_another_process_writes_meanwhile_has_its_outline(
    archive, run, path, monkeypatch
):
    def read_and_write(query):
        found = read(query)
        n_trials = len(written)
        written.append(Outline((dataclasses.replace(STEP, name=f"step {n_trials}"),)))
        with Archive(path) as other:
            other.add_trials(run, HERE, 1, [trial(f"b{n_trials}", outline=written[-1])])
        return found

    archive.add_trials(run, HERE, 1, [trial("a")])
    read, written = archive._read, []
    monkeypatch.setattr(archive, "_read", read_and_write)
    for _ in range(2):
        [found] = archive.past_trials(device="cpu", version=1, n=10).values()
        assert all(one.outline for one in found)


def test_past_trials_are_the_measured_ones_of_other_tasks_on_the_device(archive, run):
    other = Task("other", "kernelbench", "class Model: pass")
    archive.add_task(other)
    past = archive.start_run(other, Settings())
    without = trial("old", outline=None)
    failed = Trial("c", "cpp", TrialOutcome.FAILED)
    archive.add_trials(past, HERE, 1, [trial("a"), without, failed, trial("b")])
    archive.add_trials(past, Environment("cuda:sm_90", {}), 1, [trial("gpu")])
    archive.add_trials(past, HERE, 2, [trial("another tuner")])
    archive.add_trials(run, HERE, 1, [trial("mine")])
    found = archive.past_trials(device="cpu", version=1, n=10, without_task=TASK.digest)
    assert found == {(other.digest, HERE.digest): [trial("b"), trial("a")]}
    newest = archive.past_trials(device="cpu", version=1, n=1)
    assert [t.candidate for group in newest.values() for t in group] == ["mine"]


def test_a_task_s_trials_come_back_with_their_places_and_versions(archive, run):
    gpu = Environment("cuda:sm_90", {"gpu": "a GPU"})
    archive.add_trials(run, HERE, 1, [trial("a")])
    archive.add_trials(run, gpu, 2, [trial("b")])
    found = archive.trials_everywhere(TASK.digest)
    assert found == [(HERE, 1, trial("a")), (gpu, 2, trial("b"))]
    assert archive.trials_everywhere("another") == []


def test_trials_that_are_added_while_others_are_read_do_no_harm(path, archive, run):
    archive.add_trials(run, HERE, 1, [trial("a")])
    n_added = 0

    def add(*told):
        nonlocal n_added
        if n_added < 3 and "FROM trial" in told[2]:
            n_added += 1
            with Archive(path) as other:
                other.add_trials(run, HERE, 1, [trial(f"added {n_added}")])

    sa.event.listen(sa.Engine, "after_cursor_execute", add)
    found = archive.trials_everywhere(TASK.digest)
    sa.event.remove(sa.Engine, "after_cursor_execute", add)
    assert n_added and found[0] == (HERE, 1, trial("a"))


def test_trials_of_before_have_neither_outline_nor_interval(path):
    made_at(path, "m007")
    with closing(sqlite3.connect(path)) as database, database:
        put(database, "task", **rows.from_content(TASK))
        put(database, "environment", **rows.from_content(HERE))
        run = {"id": "r", "task": TASK.digest, "settings": "{}", "version": "0"}
        put(database, "run", **run, started_at="2026-01-01")
        told = rows.from_trial(trial("a", outline=None)) | {"run": "r", "task": TASK.digest}
        for name in ("outline", "expected_ns", "low_ns", "high_ns"):
            del told[name]
        told |= {"environment": HERE.digest, "tuner_version": 1, "created_at": "2026-01-01"}
        put(database, "trial", **told)
    with Archive(path) as archive:
        [found] = archive.trials(TASK.digest, environment=HERE.digest, version=1)
    assert found == trial("a", outline=None, low_ns=None, high_ns=None)
