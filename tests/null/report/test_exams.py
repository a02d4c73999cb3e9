"""Checkpoints beside one another: what counts as right and as fast, and how sure that is."""

import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.host.swarm.candidates import CODE
from tests.null.archive.nouns import WORKLOAD, proposal, verdict
from tests.null.report.test_page import Reader, page

from kernelwright.archive import Archive, Step
from kernelwright.core.call import EXAM, Call, Outcome
from kernelwright.core.candidate import Candidate
from kernelwright.core.evaluation import Environment, Timing
from kernelwright.core.outcome import Status
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task, Workload
from kernelwright.report.exams import Answered, answered, examined
from kernelwright.report.training import stages
from kernelwright.train.stage import tasks_of

CANDIDATE = Candidate("class ModelNew: ...", "cpp")
ASKED = {"weights": "1a2b3c4d", "device": "cpu", "max_output_tokens": 9}
SHOWN = {"parameters": {**ASKED, "exemplars": 2}}


@pytest.fixture
def archive(tmp_path):
    with Archive(tmp_path / "archive.sqlite") as opened:
        yield opened


def timed(ratio):
    samples = {"candidate": (1000,) * 8, "eager": (round(1000 * ratio),) * 8}
    return Timing(samples, strongest="eager", clock="parent", cache="cold")


def right(ratio, kinds=("kernel",)):
    return verdict(CANDIDATE, timing=timed(ratio), kinds=kinds)


def wrong(status=Status.WRONG_VALUES):
    return verdict(CANDIDATE, status)


def summary(*tasks):
    """The one summary of a checkpoint whose answers to each task are these."""
    answers = [
        Answered("one", "1", f"task {number}", found)
        for number, task in enumerate(tasks)
        for found in task
    ]
    (found,) = examined(answers)
    return found


def test_right_is_own_work_and_fast_is_surely_faster():
    found = summary([right(1.5), right(1.1)], [right(0.5), right(3, ("library",))], [None, wrong()])
    assert (found.n_tasks, found.n_answers) == (3, 6)
    assert found.right.share == pytest.approx(3 / 6)  # the library's work is not the model's
    assert found.fast["1"].share == pytest.approx(2 / 6)
    assert found.fast["1.2"].share == pytest.approx(1 / 6)
    assert found.with_code.share == pytest.approx(5 / 6)
    assert found.geometric_mean.mean == pytest.approx((1.5 * 1.1 * 0.5) ** (1 / 3))
    assert found.median.mean == pytest.approx(1.1)


def test_the_best_of_n_is_handed_over_and_where_none_wins_the_library():
    found = summary([right(2.0), wrong()], [right(0.5), None], [wrong(Status.TAMPERED), None])
    assert (found.n_of, found.n_refused) == (2, 1)
    assert found.best_right.share == pytest.approx(2 / 3)
    assert found.best_fast["1"].share == pytest.approx(1 / 3)
    assert found.best_mean.mean == pytest.approx(2 ** (1 / 3))


def test_nothing_right_is_no_proof_that_nothing_can_be():
    found = summary(*[[None, wrong()] for _ in range(10)])
    assert (found.right.share, found.right.low) == (0, 0)
    assert found.right.high == pytest.approx(0.278, abs=0.001)  # Wilson's for 0 of 10
    assert found.geometric_mean is None and found.best_mean.mean == 1


@given(st.integers(1, 12), st.integers(1, 5), st.data())
def test_an_interval_holds_its_share_and_more_answers_to_the_same_tasks_do_not_shrink_it(
    n, k, data
):
    tasks = [[data.draw(st.booleans()) for _ in range(k)] for _ in range(n)]
    once = summary(*[[right(1.0) if ok else None for ok in task] for task in tasks])
    twice = summary(*[[right(1.0) if ok else None for ok in task * 2] for task in tasks])
    assert 0 <= once.right.low <= once.right.share <= once.right.high <= 1
    assert twice.right == once.right


def said(archive, task, number, *, model="hf:runs/sft/model", **told):
    """One answer of an exam, kept in the archive; the call."""
    run = archive.start_run(task, Settings())
    text = CODE.replace("* 2 + 1", f"* {number} + 1")
    call = Call(
        id=f"{time.time_ns():x}", model=model, purpose=EXAM, context=("reference",),
        template="generator-3", dialect="cpp",
        parameters=ASKED,
        messages=(("user", "?"),), answer=f"```python\n{text}```\n", outcome=Outcome.ANSWERED,
    )  # fmt: skip
    call = replace(call, **told)
    archive.add_call(run, call)
    return run, call, text


@pytest.fixture
def task(archive):
    task = Task("relu", "folder", "class Model: ...")
    archive.add_task(task, [Workload(task.digest, WORKLOAD.shapes)])
    return task


def judged(archive, task, run, text, status=Status.PASSED, device="cpu", **facts):
    noun = proposal(text)
    archive.add_proposal(run, noun)
    told = {"timing": timed(2.0), "kinds": ("kernel",)} if status is Status.PASSED else {}
    found = verdict(
        noun.candidate, status, task=task.digest, environment=Environment(device, facts),
        workload=Workload(task.digest, WORKLOAD.shapes).digest, **told,
    )  # fmt: skip
    archive.add_evaluation(run, found)


def test_an_exam_is_read_back_from_the_archive_with_its_verdicts(archive, task):
    run, first, text = said(archive, task, 1)
    judged(archive, task, run, text)
    judged(archive, task, run, text, Status.WRONG_VALUES, device="cuda:sm_90")
    _, again, _ = said(archive, task, 1)  # said twice, judged once
    said(archive, task, 2)  # waits for its verdict
    said(archive, task, 3, answer="I cannot.")
    said(archive, task, 4, outcome=Outcome.FAILED)
    said(archive, task, 1, purpose="write")
    found = answered(archive)
    assert [each.found is not None and each.is_right for each in found] == [True, True, False]
    assert found[0].policy == "sft/model 1a2b3c, cpp on cpu"
    counted = answered(archive, {task.digest: "2"}, {first.id, again.id})
    assert [(each.level, each.is_faster(1.2)) for each in counted] == [("2", True)] * 2
    assert answered(archive, {}) == []
    assert archive.is_examined(task.digest) and tasks_of((), archive) == []


def test_a_newer_judge_on_another_device_takes_no_exam_away(archive, task):
    run, _, text = said(archive, task, 1)
    judged(archive, task, run, text)
    noun = proposal("class ModelNew: other = 1")
    archive.add_proposal(run, noun)
    told = {"task": task.digest, "workload": Workload(task.digest, WORKLOAD.shapes).digest}
    there = Environment("cuda:sm_90", {})
    archive.add_evaluation(run, verdict(noun.candidate, environment=there, judge_version=2, **told))
    assert [each.is_right for each in answered(archive)] == [True]


def test_what_repeats_a_kernel_that_it_was_shown_is_a_copy_and_not_right(archive, task):
    for number, told in ((1, {}), (1, SHOWN), (2, SHOWN)):
        run, _, text = said(archive, task, number, **told)
        judged(archive, task, run, text)
    bare, copy, new = answered(archive)
    assert (bare.is_shown, copy.is_shown, new.is_shown) == (False, True, True)
    assert (bare.is_right, copy.is_right, new.is_right) == (True, False, True)
    first, second = examined([bare, copy, new])
    assert second.policy == first.policy + ", shown its own"
    assert (first.n_copies, second.n_copies, second.right.share) == (0, 1, 0.5)


def test_two_gpus_of_one_architecture_are_two_exams(archive, task):
    for gpu, status in (("H100", Status.PASSED), ("H200", Status.WRONG_VALUES)):
        asked = {"weights": "1a2b3c4d", "device": "cuda:sm_90", "gpu": gpu}
        run, _, text = said(archive, task, 1, parameters=asked)
        judged(archive, task, run, text, status, device="cuda:sm_90", gpu=gpu)
    found = {each.policy.rpartition(" on ")[2]: each.is_right for each in answered(archive)}
    assert found == {"cuda:sm_90 (H100)": True, "cuda:sm_90 (H200)": False}


def test_a_report_shows_checkpoints_and_the_curve_of_training(archive, task, tmp_path):
    run, _, text = said(archive, task, 1)
    judged(archive, task, run, text)
    for number, right_share in ((1, 0.25), (2, 0.5), (2, 0.75)):  # the second was done again
        facts = {"earned": 1.5, "share/right": right_share, "judge/candidates": 6, "loss": 0.1}
        archive.add_step(Step("/runs/plain/contrastive", number, {"model": "<b>"}, facts))
    (stage,) = stages(archive)
    assert [step["share/right"] for step in stage.steps] == [0.25, 0.75]
    assert (stage.name, stage.n_judged) == ("plain/contrastive", 12)
    text = page(archive, tmp_path)
    assert "Checkpoints" in Reader(text).text and "sft/model 1a2b3c" in text
    assert "plain/contrastive: step 2, 12 candidates judged" in Reader(text).text
    assert "0.75" in text and "&lt;b&gt;" in text
    one = page(archive, tmp_path, task=task.digest)
    assert "Checkpoints" not in one and "plain/contrastive" not in one


def test_a_long_stage_is_shown_in_part_and_its_last_step_with_it(archive):
    for number in range(1, 101):
        archive.add_step(Step("/runs/sft", number, {}, {"loss": 1 / number}))
    (stage,) = stages(archive)
    assert len(stage.steps) == 100 and len(stage.rows) <= 16
    assert stage.rows[-1]["step"] == 100
