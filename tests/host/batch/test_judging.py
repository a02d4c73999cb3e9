"""Batch judging with the real judge resumes, and a bad file does not end it."""

from pathlib import PurePath

import pytest
from tests.host.relu_task import RIGHT, TASK, WRONG

from kernelwright.archive import Archive
from kernelwright.batch import assign, judge_all, judge_suite, read_folder
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.suites.suite import SuiteEntry
from kernelwright.workers.slots import WHOLE_MACHINE
from kernelwright.workers.workers import LocalWorkers

FILES = {
    "right.py": RIGHT,
    "same.py": RIGHT,
    "wrong.py": WRONG,
    "syntax.py": "class ModelNew(",
    "dead.py": "import os\nos._exit(3)\nclass ModelNew: pass",
    "absent.py": "import torch",
}
RELU = Task("relu", "kernelbench", TASK)


@pytest.fixture
def settings(tmp_path):
    return Settings(archive=f"sqlite:///{tmp_path}/archive.sqlite")


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "candidates"
    made.mkdir()
    for name, text in FILES.items():
        (made / name).write_text(text)
    (made / "binary.py").write_bytes(b"\xff\xfe")
    return made


def statuses(batch):
    return {PurePath(c.name).name: c.evaluation.status.value for c in batch.files if c.evaluation}


def test_every_file_gets_its_verdict_and_none_is_judged_twice(folder, settings, only_eager):
    files = read_folder(folder, entry="ModelNew")
    steps = []
    batch = judge_all(RELU, files, settings=settings, on_step=steps.append)
    assert statuses(batch) == {
        "right.py": "passed",
        "same.py": "passed",
        "wrong.py": "wrong_values",
        "syntax.py": "build_error",
        "dead.py": "runtime_error",
        "absent.py": "build_error",
    }
    assert [c.name for c in batch.files if c.error] == ["binary.py"]
    assert len(steps) == 5 and steps[-1].n_all == 7  # same.py is right.py, binary.py is nothing
    again = judge_all(RELU, files, settings=settings, on_step=steps.append)
    assert statuses(again) == statuses(batch) and len(steps) == 5


def test_an_interrupted_batch_resumes(folder, settings):
    files = [
        c for c in read_folder(folder, entry="ModelNew") if c.name in ("absent.py", "syntax.py")
    ]
    judged = []

    def stop_at_the_second(step):
        if step.n_done == 1:
            raise KeyboardInterrupt
        judged.append(step.doing)

    batch = judge_all(RELU, files, settings=settings, on_step=stop_at_the_second)
    assert batch.interrupted and [c.is_settled for c in batch.files] == [True, False]
    with Archive(settings.archive) as archive:
        ((proposal, _),) = archive.history(RELU.digest)
        assert proposal.proposer == "file" and proposal.note == "absent.py"
        assert archive.runs()[0].finished_at is None
    batch = judge_all(RELU, files, settings=settings, on_step=lambda s: judged.append(s.doing))
    assert judged == ["absent.py", "syntax.py"] and not batch.interrupted
    assert all(c.is_settled for c in batch.files)


def test_a_broken_task_does_not_affect_other_tasks(tmp_path, settings):
    texts = {
        "1_Relu": TASK,
        "2_Raises": TASK + "\nraise RuntimeError('no such data')",
        "3_Dies": TASK + "\nimport os\nos._exit(3)",
    }
    entries = [
        SuiteEntry("1", int(name[0]), name, Task(name, "kernelbench", text))
        for name, text in texts.items()
    ]
    for name in ("1_mine.py", "2_mine.py", "level_1_problem_3.py"):
        (tmp_path / name).write_text("import torch")
    groups, _ = assign(read_folder(tmp_path, entry="ModelNew"), entries)
    steps = []
    with LocalWorkers([WHOLE_MACHINE] * 3) as workers:
        first, second, third = judge_suite(
            groups, settings=settings, workers=workers, on_step=steps.append
        )
    assert statuses(first) == {"1_mine.py": "build_error"} and steps[0].doing == "1_mine.py"
    assert "no such data" in second.files[0].error.seen + second.files[0].error.what
    assert "died" in third.files[0].error.what and "3" in third.files[0].error.seen


def test_a_candidate_that_passes_is_timed_on_every_shape_that_the_task_lists(
    tmp_path, settings, only_eager
):
    further = "\ndef get_other_inputs():\n    return [[torch.randn(64, 512)]]"
    held_out = "\ndef get_holdout_inputs():\n    return [[torch.randn(63, 512)]]"
    task = Task("relu", "kernelbench", TASK + further + held_out)
    for name in ("right.py", "wrong.py"):
        (tmp_path / name).write_text(FILES[name])
    batch = judge_all(task, read_folder(tmp_path, entry="ModelNew"), settings=settings)
    right, wrong = batch.files
    assert [(at.name, at.is_holdout) for at in right.by_shape] == [
        ("512x512", False),
        ("64x512", False),
        ("63x512", True),
    ]
    assert all(at.evaluation.passed and at.evaluation.timing for at in right.by_shape)
    assert len({at.evaluation.task for at in right.by_shape}) == 3 and not wrong.by_shape
