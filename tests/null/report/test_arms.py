"""Ways to train beside one another: what counts for each, what it cost, how sure the gap is."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.null.archive.nouns import verdict
from tests.null.report.test_exams import right, timed

from kernelwright.archive import Step
from kernelwright.core.candidate import Candidate
from kernelwright.core.errors import UsageError
from kernelwright.core.outcome import Status
from kernelwright.report.arms import Arm, compared, n_judged, parse_arm
from kernelwright.report.exams import Answered

CANDIDATE = Candidate("class ModelNew: ...", "cpp")
RIGHT = verdict(CANDIDATE, kinds=("kernel",))
WRONG = verdict(CANDIDATE, Status.WRONG_VALUES)


def answers(folder, *tasks):
    """Of one checkpoint to tasks: 1 is right, 0 is wrong."""
    model = f"hf:{Path(folder).resolve()}"
    return [
        Answered(folder, "1", f"task {n}", RIGHT if mark else WRONG, model)
        for n, marks in enumerate(tasks)
        for mark in marks
    ]


def step(stage, number, model, n):
    told = {"model": str(model)}
    return Step(str(Path(stage).resolve()), number, told, {"judge/candidates": n, "loss": 0.1})


@pytest.mark.parametrize(
    ("text", "arm"),
    [
        ("sft=a/model", Arm("sft", (Path("a/model"),))),
        ("best of 8=a/model@8", Arm("best of 8", (Path("a/model"),), 8)),
        ("shown=a@4+2", Arm("shown", (Path("a"),), 4, 2)),
        ("plain=a,b@2", Arm("plain", (Path("a"), Path("b")), 2)),
        ("odd=a@home", Arm("odd", (Path("a@home"),))),
    ],
)
def test_an_arm_is_a_name_and_its_checkpoints(text, arm):
    assert parse_arm(text) == arm


@pytest.mark.parametrize("text", ["sft", "=a", "sft=", "sft=a@0"])
def test_what_is_no_arm_is_told(text):
    with pytest.raises(UsageError, match="no such arm"):
        parse_arm(text)


def test_only_the_first_answers_count_where_that_is_asked():
    said = answers("sft/model", (0, 0, 1, 1), (0, 1, 1, 1))
    few, all_ = compared([parse_arm("few=sft/model@2"), parse_arm("all=sft/model")], said, ())
    assert (few.right.share, all_.right.share) == (0.25, 0.625)
    assert (few.best_right.share, all_.best_right.share) == (0.5, 1.0)
    assert (few.n_answers, all_.n_examined) == (2, 8)
    assert few.gap is None and all_.gap.share == pytest.approx(0.375)


def test_shown_answers_count_where_that_is_asked():
    bare, shown = answers("a/model", (0, 0)), answers("a/model", (1, 1, 1))
    said = [*bare, *(replace(each, is_shown=True) for each in shown)]
    told = [parse_arm(f"{n}=a/model{counted}") for n, counted in enumerate(("", "@2", "@1+2"))]
    assert [row.n_examined for row in compared(told, said, ())] == [5, 2, 3]
    assert [row.right.share for row in compared(told, said, ())] == pytest.approx([0.6, 0, 2 / 3])


def test_speeds_are_compared_on_the_tasks_that_both_have_right():
    fast, slow = timed(2.0), timed(0.5)
    said = [
        Answered("a", "1", task, replace(RIGHT, timing=timing), f"hf:{Path(model).resolve()}")
        for model, task, timing in (("a", "x", slow), ("a", "y", fast), ("b", "x", fast))
    ]
    one, other = compared([parse_arm("a=a"), parse_arm("b=b")], said, ())
    assert (one.speed.mean, other.speed.mean) == pytest.approx((1.0, 2.0))
    assert (one.best_speed.mean, other.best_speed.mean) == pytest.approx((2**0.5, 2.0))
    assert one.speed_ratio is None and other.speed_ratio.mean == pytest.approx(4.0)


def test_a_gap_is_over_the_tasks_that_both_have_and_its_interval_holds_it():
    told = [parse_arm("a=a/model"), parse_arm("b=b/model")]
    said = answers("a/model", *[(0, 1)] * 6) + answers("b/model", *[(1, 1)] * 4)
    first, second = compared(told, said, ())
    assert first.gap is None and (first.n_tasks, second.n_tasks) == (6, 4)
    assert second.gap.share == second.gap.low == second.gap.high == 0.5


def test_shares_of_answers_that_are_faster_than_the_library_are_compared_by_task():
    said = [
        Answered(name, "1", f"task {n}", right(ratio), f"hf:{Path(name).resolve()}")
        for name, ratio in (("slow", 1.1), ("fast", 1.5))
        for n in range(4)
    ]
    slow, fast = compared([parse_arm("slow=slow"), parse_arm("fast=fast")], said, ())
    assert slow.fast_gaps == {"1": None, "1.2": None}
    assert fast.fast_gaps["1"].share == 0.0 and fast.fast_gaps["1.2"].share == 1.0


def test_seeds_that_differ_widen_the_interval():
    alike = answers("a1/model", *[(1, 0)] * 40) + answers("a2/model", *[(0, 1)] * 40)
    apart = answers("b1/model", *[(1, 1)] * 40) + answers("b2/model", *[(0, 0)] * 40)
    told = [parse_arm("alike=a1/model,a2/model"), parse_arm("apart=b1/model,b2/model")]
    one, other = compared(told, alike + apart, ())
    assert one.right.share == other.right.share == 0.5
    assert other.right.high - other.right.low == 1.0
    assert one.right.high - one.right.low < 0.4
    assert other.gap.low < 0 < other.gap.high


def test_kernels_judged_are_counted_back_through_the_stages():
    steps = [
        step("sft", 1, "hub/base", 0), step("selfsup", 1, "sft/model", 96),
        step("selfsup", 2, "sft/model", 90), step("plain/contrastive", 1, "selfsup/model", 32),
    ]  # fmt: skip
    found = {name: n_judged(Path(name, "model"), steps) for name in ("sft", "plain/contrastive")}
    assert found == {"sft": 0, "plain/contrastive": 96 + 90 + 32}
    (row,) = compared([parse_arm("rl=selfsup/model")], answers("selfsup/model", (1,)), steps)
    assert row.n_trained == 186


def test_an_arm_that_was_not_examined_is_told():
    with pytest.raises(UsageError, match="b has no answers"):
        compared([parse_arm("a=a/m"), parse_arm("b=b/m")], answers("a/m", (1,)), ())
    with pytest.raises(UsageError, match="no such arm"):
        compared([parse_arm("a=a/m")], answers("a/m", (1,)), (), against="c")
