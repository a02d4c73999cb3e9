"""Ways to train beside one another: each some checkpoints that differ in their seeds, at their cost
in judged kernels, with intervals over tasks and seeds."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import methodcaller
from pathlib import Path
from statistics import fmean, geometric_mean

from kernelwright.archive import Step
from kernelwright.core.errors import UsageError
from kernelwright.core.evaluation import CONFIDENCE
from kernelwright.report.exams import FAST, N_DRAWS, Answered, Mean, Share, gain, interval, share_of

JUDGED = "judge/candidates"
"""Under which a step of reinforcement logs how many kernels it had judged."""
ARM = re.compile(r"([^=]+)=(.+?)(?:@(\d+)(?:\+(\d+))?)?")
"""'NAME=DIR,DIR@4+2' as name, folders, answers and shown ones."""
Part = dict[str, list[list[Answered]]]
"""An arm's answers that count, by task and then by checkpoint."""
Marks = dict[str, list[list[float]]]
"""By task and then by checkpoint: what its answers count, 1 or 0 each."""
_FASTER = {f"{p:g}": methodcaller("is_faster", p) for p in FAST}
"""Whether an answer is so many times as fast as the library."""


@dataclass(frozen=True)
class Arm:
    """One way to train, or a base model, or more samples of one that is there."""

    name: str
    checkpoints: tuple[Path, ...]
    n_answers: int | None = None
    """Of each checkpoint to each task the first so many count; None: all."""
    n_shown: int = 0
    """And so many of those to prompts that showed it its own kernels, where not all count."""

    def counted(self, answers: Sequence[Answered]) -> list[Answered]:
        """Those of one checkpoint to one task that count."""
        if self.n_answers is None:
            return list(answers)
        bare = [each for each in answers if not each.is_shown]
        shown = [each for each in answers if each.is_shown]
        return bare[: self.n_answers] + shown[: self.n_shown]


@dataclass(frozen=True)
class ArmSummary:
    """What an arm came to, and what it cost."""

    name: str
    n_seeds: int
    n_tasks: int
    n_answers: int
    """The most of one checkpoint to one task: the best of so many."""
    n_trained: float
    """Kernels judged in all stages before a checkpoint, the mean of the seeds."""
    n_examined: float
    """Answers in the exam, the mean of the seeds."""
    right: Share
    fast: dict[str, Share]
    best_right: Share
    best_fast: dict[str, Share]
    """Shares of tasks of which one answer holds."""
    speed: Mean | None
    """The geometric mean of the speedups of right answers."""
    best_speed: Mean
    """The same of what the best of a task's answers gives: 1 where none beats the library."""
    gap: Share | None = None
    """The share of right answers less that of the arm that others are compared with, over tasks
    that both have; None for that arm."""
    fast_gaps: dict[str, Share | None] = field(default_factory=dict)
    """The same of the answers that are so many times as fast as the library."""
    best_gap: Share | None = None
    """The same of the best of a task's answers."""
    speed_ratio: Mean | None = None
    """How many times as fast its right answers are, a task's mean over the other's, over tasks of
    which both have some."""


def parse_arm(text: str) -> Arm:
    """'NAME=DIR[,DIR…][@K[+S]]': K answers to each task count, and S that were shown its own.

    Raises:
        UsageError: it is not of that form.
    """
    found = ARM.fullmatch(text)
    name, folders, number, shown = found.groups() if found else ("", "", "", "")
    paths = tuple(Path(part).expanduser() for part in folders.split(",") if part)
    if not paths or number == "0":
        raise UsageError(
            "no such arm", seen=text, do="write NAME=DIR, NAME=DIR,DIR, NAME=DIR@4 or NAME=DIR@4+2"
        )
    return Arm(name, paths, int(number) if number else None, int(shown or 0))


def compared(
    arms: Sequence[Arm], answers: Sequence[Answered], steps: Sequence[Step], *, against: str = ""
) -> list[ArmSummary]:
    """The arms in their order. ``against`` names one of them; by default the first.

    Intervals hold 95 %. A task is one observation however often it was answered; of several seeds
    tasks and seeds are drawn, and an interval is never narrower than Wilson's over tasks.

    Raises:
        UsageError: an arm has no answers, or there is no arm ``against``.
    """
    parts = [_answers(arm, answers) for arm in arms]
    names = [arm.name for arm in arms]
    if (against or names[0]) not in names:
        raise UsageError("no such arm", seen=against, do=f"name one of {', '.join(names)}")
    first = parts[names.index(against or names[0])]
    return [
        _summary(arm, part, None if part is first else first, steps)
        for arm, part in zip(arms, parts, strict=True)
    ]


def n_judged(checkpoint: Path, steps: Sequence[Step]) -> int:
    """Kernels judged in the stages that led to a checkpoint, one after the other back to a model
    that no stage in ``steps`` has made."""
    stages: dict[str, list[Step]] = {}
    for step in steps:
        stages.setdefault(step.stage, []).append(step)
    found, folder = 0, str(checkpoint.resolve().parent)
    while folder in stages:
        mine = stages.pop(folder)
        found += round(sum(step.facts.get(JUDGED, 0) for step in mine))
        folder = str(Path(mine[-1].recipe["model"]).expanduser().resolve().parent)
    return found


def _answers(arm: Arm, answers: Sequence[Answered]) -> Part:
    """The answers that count, by task and then by checkpoint."""
    names = [str(path.resolve()) for path in arm.checkpoints]
    found: Part = {}
    for each in answers:
        model = str(Path(each.model.removeprefix("hf:")).expanduser().resolve())
        if model in names:
            task = found.setdefault(f"{each.level}/{each.task}", [[] for _ in names])
            task[names.index(model)].append(each)
    missing = [name for n, name in enumerate(names) if not any(t[n] for t in found.values())]
    if missing:
        raise UsageError(
            f"{arm.name} has no answers", seen=missing[0],
            do="examine it first: kernelwright bench --policy DIR --archive …",
        )  # fmt: skip
    return {name: [arm.counted(part) for part in task] for name, task in found.items()}


def _summary(
    arm: Arm,
    part: Part,
    other: Part | None,
    steps: Sequence[Step],
) -> ArmSummary:
    def share(holds: Callable[[Answered], bool], best: bool = False) -> Share:
        return _share(_marks(part, holds, best), len(arm.checkpoints))

    def gap(holds: Callable[[Answered], bool], best: bool = False) -> Share | None:
        if other is None:
            return None
        return _gap(_marks(part, holds, best), _marks(other, holds, best))

    n_seeds = len(arm.checkpoints)
    return ArmSummary(
        name=arm.name, n_seeds=n_seeds, n_tasks=len(part),
        n_answers=max(len(seed) for task in part.values() for seed in task),
        n_trained=fmean(n_judged(path, steps) for path in arm.checkpoints),
        n_examined=sum(len(seed) for task in part.values() for seed in task) / n_seeds,
        right=share(_is_right),
        fast={name: share(holds) for name, holds in _FASTER.items()},
        best_right=share(_is_right, best=True),
        best_fast={name: share(holds, best=True) for name, holds in _FASTER.items()},
        speed=_mean_of(_speeds(part)), best_speed=_best_speed(part),
        gap=gap(_is_right), best_gap=gap(_is_right, best=True),
        fast_gaps={name: gap(holds) for name, holds in _FASTER.items()},
        speed_ratio=_speed_ratio(part, other) if other is not None else None,
    )  # fmt: skip


def _speeds(part: Part) -> dict[str, list[float]]:
    """Of the right answers, by task."""
    return {
        name: [s for seed in task for each in seed if (s := each.speedup) is not None]
        for name, task in part.items()
    }


def _mean_of(speeds: dict[str, list[float]]) -> Mean | None:
    return interval(list(speeds.values()), geometric_mean)


def _best_speed(part: Part) -> Mean:
    found = _mean_of({name: [gain(seed) for seed in task] for name, task in part.items()})
    assert found is not None  # every task has a gain
    return found


def _speed_ratio(mine: Part, others: Part) -> Mean | None:
    one, other = _speeds(mine), _speeds(others)
    both = [name for name in one if one[name] and other.get(name)]
    return _mean_of({n: [geometric_mean(one[n]) / geometric_mean(other[n])] for n in both})


def _is_right(answer: Answered) -> bool:
    return answer.is_right


def _marks(part: Part, holds: Callable[[Answered], bool], best: bool) -> Marks:
    """What counts of each task, by checkpoint: every answer, or whether one of them holds."""
    found = {
        name: [[float(holds(a)) for a in seed] for seed in task] for name, task in part.items()
    }
    if best:
        found = {n: [[max(seed)] if seed else [] for seed in task] for n, task in found.items()}
    return found


def _share(marks: Marks, n_seeds: int) -> Share:
    """A share with its interval over tasks, and over seeds where there are several."""
    wide = share_of([fmean(mark for seed in task for mark in seed) for task in marks.values()])
    if n_seeds == 1:
        return wide
    low, high = _ends(lambda draw: _drawn(marks, draw))
    return Share(wide.share, min(low, wide.low), max(high, wide.high))


def _gap(mine: Marks, others: Marks) -> Share | None:
    """The difference of two arms over the tasks that both have; None where they share none."""
    names = [name for name in mine if name in others]
    if not names:
        return None
    mine, others = ({name: marks[name] for name in names} for marks in (mine, others))

    def drawn(draw: random.Random) -> float:
        tasks = draw.choices(names, k=len(names))
        return _drawn(mine, draw, tasks) - _drawn(others, draw, tasks)

    middle = _mean(mine, names) - _mean(others, names)
    return Share(middle, *_ends(drawn))


def _mean(marks: Marks, names: Sequence[str]) -> float:
    return fmean(fmean(mark for seed in marks[name] for mark in seed) for name in names)


def _drawn(marks: Marks, draw: random.Random, tasks: Sequence[str] | None = None) -> float:
    """The mean with tasks, unless they are given, and seeds drawn anew."""
    names = list(marks)
    tasks = tasks or draw.choices(names, k=len(names))
    n_seeds = len(marks[names[0]])
    seeds = draw.choices(range(n_seeds), k=n_seeds)
    found = [[mark for seed in seeds for mark in marks[name][seed]] for name in tasks]
    return fmean([fmean(answers) for answers in found if answers] or [0.0])


def _ends(drawn: Callable[[random.Random], float]) -> tuple[float, float]:
    draw = random.Random(0)
    found = sorted(drawn(draw) for _ in range(N_DRAWS))
    tail = round((1 - CONFIDENCE) / 2 * N_DRAWS)
    return found[tail], found[-1 - tail]
