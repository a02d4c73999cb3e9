"""Grids of measured schedules: written and read, and the lessons that are drawn from them."""

import itertools
import json
import math
from dataclasses import replace

import pytest

pytest.importorskip("pyarrow")

from kernelwright.archive import Archive
from kernelwright.core import schedule_line
from kernelwright.core.call import EXAM, Call, Outcome
from kernelwright.core.candidate import Candidate, Exemplar
from kernelwright.core.errors import UsageError
from kernelwright.core.evaluation import Environment
from kernelwright.core.schedule_line import LINE, OF
from kernelwright.core.settings import Settings
from kernelwright.core.trial import Trial, TrialOutcome
from kernelwright.dataset import Grids, build_dataset, open_pairs
from kernelwright.dataset.answer import answer, choice
from kernelwright.dataset.grid import build_grid, open_grid
from kernelwright.dataset.pairs import MEASURED
from kernelwright.dataset.rows import LEAST_GAIN
from kernelwright.suites.composed.lessons import PROPOSER, lessons
from kernelwright.train import sft
from kernelwright.train.reward_worker import Proposal
from kernelwright.tuner.admission import refusal

PLACE = Environment("cuda:sm_90", {"gpu": "a GPU", "threads": 2, "torch": "2"})
ELEMENTS, WARPS = (512, 1024, 2048, 4096), (4, 8)


def time_ns(schedule):
    """A kernel is the faster the more elements its programs process."""
    return 1e6 / math.sqrt(schedule["ELEMENTS"]) * (1.01 if schedule["WARPS"] == 8 else 1.0)


@pytest.fixture
def url(tmp_path):
    """An archive with a lesson's program under eight schedules, one of which was wrong."""
    lesson = next(iter(lessons(1, seed=2, forms=["pointwise"])))
    path = str(tmp_path / "lessons.sqlite")
    base = Proposal(lesson.candidate, PROPOSER, (lesson.form,))
    with Archive(path) as archive:
        archive.add_task(lesson.task)
        run = archive.start_run(lesson.task, Settings())
        archive.add_proposal(run, base)
        trials = []
        for elements, warps in itertools.product(ELEMENTS, WARPS):
            line = {"ELEMENTS": elements, "WARPS": warps}
            text = schedule_line.rewritten(lesson.candidate.source, line)
            took = time_ns(line)
            trials.append(
                Trial(
                    Candidate(text, "triton").digest, "triton", TrialOutcome.MEASURED,
                    {LINE: line, OF: lesson.candidate.digest}, "", took, 3e4, 8,
                    low_ns=0.99 * took, high_ns=1.02 * took,
                )
            )  # fmt: skip
        trials[0] = Trial(
            trials[0].candidate, "triton", TrialOutcome.WRONG, trials[0].schedule, "off by 3"
        )
        rules = Trial("r", "triton", TrialOutcome.MEASURED, {"variant": "fused"}, "", 2e4, 3e4, 8)
        archive.add_trials(run, PLACE, 2, [*trials, rules])
        archive.finish_run(run)
    return path


def test_a_grid_holds_the_text_and_the_time_of_every_schedule(url, tmp_path):
    rows = build_grid([url], out=tmp_path / "grid", command="a command")
    assert open_grid(tmp_path / "grid") == rows
    ours = [row for row in rows if row.code]
    assert len(ours) == 8 and len(rows) == 9
    assert len({row.program for row in ours}) == 1
    with Archive(url) as archive:
        [base] = archive.proposals(ours[0].task_digest)
    [own] = [row for row in rows if row.is_as_written]
    assert own.code == base.candidate.source
    for row in ours:
        schedule = json.loads(row.schedule)
        assert schedule_line.read(row.code) == schedule
        assert row.trial.schedule == {LINE: schedule}
        if row.outcome == MEASURED:
            assert row.time_ns == pytest.approx(time_ns(schedule))
            assert row.low_ns < row.time_ns < row.high_ns
    card = (tmp_path / "grid" / "README.md").read_text()
    assert "9 of 2 programs for 1 tasks" in card and "a GPU" in card and "a command" in card


def test_tasks_of_an_exam_are_in_no_grid(url, tmp_path):
    with Archive(url) as archive:
        [task] = archive.tasks()
        [run] = archive.runs(task.digest)
        call = Call(
            id="1", model="hf:x", purpose=EXAM, context=(), template="generator-3",
            dialect="triton", parameters={}, messages=(), answer="", outcome=Outcome.ANSWERED,
        )  # fmt: skip
        archive.add_call(run.id, call)
    assert build_grid([url], out=tmp_path / "grid", command="") == []


def test_no_grid_is_read_from_another_folder(tmp_path):
    with pytest.raises(UsageError, match="holds no grid"):
        open_grid(tmp_path)


@pytest.mark.parametrize(
    "said",
    [{"temperature": 0}, {"temperature": math.nan}, {"contrast": 0.5}, {"contrast": math.nan}],
)
def test_numbers_that_draw_nothing_are_refused(said, tmp_path):
    with pytest.raises(UsageError, match=r"drawn|out of range"):
        Grids([tmp_path], **said)


def built(url, tmp_path, **said):
    build_grid([url], out=tmp_path / "grid", command="")
    out = tmp_path / f"out {len(list(tmp_path.iterdir()))}"
    keep = said.pop("keep", 2)
    build_dataset([], grids=Grids([tmp_path / "grid"], **said), out=out, keep=keep)
    pairs = open_pairs(out)
    shown = [pair for pair in pairs if json.loads(pair.provenance)["shown"]]
    return [pair for pair in pairs if pair not in shown], shown


def elements(pair):
    return schedule_line.read(pair.code)["ELEMENTS"]


def test_a_low_temperature_teaches_the_fastest_schedules_and_a_high_one_all_alike(url, tmp_path):
    plain, _ = built(url, tmp_path, temperature=1e-3)
    assert [elements(pair) for pair in plain] == [4096, 4096]
    every, _ = built(url, tmp_path, temperature=math.inf, keep=100)
    assert len(every) == 7  # the wrong one is no answer
    assert {pair.status for pair in every} == {MEASURED}
    order = [elements(pair) for pair in every]
    assert order != sorted(order, reverse=True)


def test_contrastive_lessons_show_kernels_of_clearly_different_speeds_that_are_slower(
    url, tmp_path
):
    _, (pair,) = built(url, tmp_path, temperature=1e-3)
    shown = json.loads(pair.provenance)["shown"]
    times = {row.candidate: row.time_ns for row in open_grid(tmp_path / "grid")}
    first, second = sorted(times[name] for name in shown)
    assert second / first >= 1.25
    mine = times[Candidate(pair.code, "triton").digest]
    assert LEAST_GAIN * mine < first
    assert f"{first / mine:.3g} times as fast." in pair.answer
    _, far = built(url, tmp_path, temperature=1e-3, contrast=2.5)
    assert len(json.loads(far[0].provenance)["shown"]) == 1  # no two are that far apart
    assert "eager" in pair.prompt[-1][1]


def test_every_answer_is_admitted_and_obeys_the_line_that_was_measured(url, tmp_path):
    plain, shown = built(url, tmp_path, temperature=math.inf, keep=100)
    lines = {row.candidate: json.loads(row.schedule) for row in open_grid(tmp_path / "grid")}
    for pair in (*plain, *shown):
        assert not refusal(pair.code) and pair.code.strip("\n") in pair.answer
        assert schedule_line.read(pair.code) == lines[Candidate(pair.code, "triton").digest]


def test_the_prose_credits_a_schedule_only_with_what_it_brings_to_the_same_program(url, tmp_path):
    timed = [r for r in build_grid([url], out=tmp_path / "grid", command="") if r.code]
    fast, slow = timed[-1], next(r for r in timed if r.time_ns)
    found, other = (row.trial.as_evaluation(row.task, row.place) for row in (fast, slow))
    shown = Exemplar(slow.proposal, other, "worse")
    assert "times as fast" in choice(fast.proposal, found, [shown])
    text = slow.code.replace("super().__init__()", "super().__init__()\n        self.x = 1")
    edited = replace(slow.proposal, candidate=Candidate(text, "triton"))
    assert choice(fast.proposal, found, [Exemplar(edited, other, "worse")]) == ""


def test_the_prose_of_a_trial_compares_with_eager_code(url, tmp_path):
    row = build_grid([url], out=tmp_path / "grid", command="")[-2]
    found = row.trial.as_evaluation(row.task, row.place)
    text = answer(replace(row.proposal, proposer="swarm"), found, None)
    assert "eager mode" in text and "library setting" not in text


def test_sft_learns_from_measured_schedules(url, tmp_path):
    plain, shown = built(url, tmp_path, temperature=1e-3)
    train = [pair for pair in (*plain, *shown) if pair.split == "train"]
    if train:
        assert len(sft.lessons(train, ())) == len(train)
    else:
        with pytest.raises(UsageError):
            sft.lessons([*plain, *shown], ())
