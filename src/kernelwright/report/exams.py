"""What checkpoints come to on a suite: shares with intervals, beside one another."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from statistics import NormalDist, fmean, geometric_mean, median

from kernelwright.archive import Archive, ranking
from kernelwright.core.call import EXAM, Call, Outcome
from kernelwright.core.candidate import Candidate, Proposal
from kernelwright.core.evaluation import CONFIDENCE, Evaluation
from kernelwright.core.outcome import Status
from kernelwright.proposers.swarm.answer import read

ALL = "all"
FAST = (1.0, 1.2)
SHOWN = ", shown its own"
REFUSED = {Status.REJECTED, Status.TAMPERED}
Where = tuple[str, str]
"""A device and the GPU's name: an H100 and an H200 are one device, and not one exam."""
N_DRAWS = 2000  # of tasks; an end of the interval moves by about a fiftieth of its width


@dataclass(frozen=True)
class Answered:
    """One answer of a checkpoint to one task of a suite, and what the judge says about it."""

    policy: str
    level: str
    task: str
    found: Evaluation | None
    """None where it has no code that could be judged."""
    model: str = ""
    """The checkpoint as it was asked, with its whole path."""
    is_shown: bool = False
    """Whether the prompt showed kernels of the checkpoint's own."""
    is_copy: bool = False
    """Whether it repeats an answer from which those were drawn: no work was done again."""

    @property
    def is_right(self) -> bool:
        found = self.found
        return found is not None and found.passed and found.is_own and not self.is_copy

    @property
    def speedup(self) -> float | None:
        """Of a right answer, against the strongest library setting; None where not timed."""
        if not self.is_right or self.found is None or self.found.speedup is None:
            return None
        return self.found.speedup.median

    def is_faster(self, p: float) -> bool:
        """Whether it is right, surely faster than the library, and more than p times."""
        won = self.found is not None and self.is_right and ranking.wins(self.found)
        return won and (self.speedup or 0.0) > p


@dataclass(frozen=True)
class Share:
    """A share of answers, with its 95 % interval."""

    share: float
    low: float
    high: float


@dataclass(frozen=True)
class Mean:
    """A mean or a median of speedups with its 95 % interval; no ends where one task is all."""

    mean: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class PolicySummary:
    """A checkpoint on one level."""

    policy: str
    level: str
    n_tasks: int
    n_answers: int
    with_code: Share
    right: Share
    fast: dict[str, Share]
    """fast_p: the share of answers that are right and more than p times as fast."""
    geometric_mean: Mean | None
    median: Mean | None
    """Of the speedups of right answers, with 95 % intervals; None where there are none."""
    n_refused: int
    """Answers that a guard of the judge refused."""
    n_copies: int
    """Answers that repeat an earlier one, though they were to be better: not right."""
    n_of: int
    """How many answers to a task the following take the best of."""
    best_right: Share
    best_fast: dict[str, Share]
    best_mean: Mean
    """Of what the best of a task's answers gives a user: 1 where none beats the library."""


def answered(
    archive: Archive, levels: Mapping[str, str] | None = None, only: Collection[str] | None = None
) -> list[Answered]:
    """Every answer of an exam on a task that has a level; without ``levels`` on all tasks.

    ``levels`` are by a task's digest; ``only`` are the ids of the calls that count. An answer that
    waits for its verdict, or on which the machine failed, does not count.
    """
    found = []
    tasks = archive.tasks() if levels is None else filter(None, map(archive.find_task, levels))
    for task in tasks:
        level = levels[task.digest] if levels is not None else ALL
        calls = [
            call
            for call in archive.calls(task.digest)
            if call.purpose == EXAM and call.outcome is not Outcome.FAILED
            and (only is None or call.id in only)
        ]  # fmt: skip
        known = _verdicts(archive, task.digest) if calls else {}
        earlier: set[tuple[str, str]] = set()
        for call in sorted(calls, key=lambda call: call.is_shown):  # otherwise in their order
            code, checkpoint = read(call.answer, call.dialect).code, _checkpoint(call)
            text = Candidate(code, call.dialect).normal
            key = (_where(call), text)
            if code and key not in known:
                continue
            is_copy = call.is_shown and bool(code) and (checkpoint, text) in earlier
            if not call.is_shown:
                earlier.add((checkpoint, text))
            verdict = known[key] if code else None
            name = checkpoint + SHOWN if call.is_shown else checkpoint
            found.append(
                Answered(name, level, task.name, verdict, call.model, call.is_shown, is_copy)
            )
    return found


def _verdicts(archive: Archive, task: str) -> dict[tuple[Where, str], Evaluation]:
    """The last verdict of the newest judge there on each text of a task, by where it was judged."""
    by_gpu: dict[Where, list[tuple[Proposal, Evaluation]]] = {}
    for said, found in archive.history(task):
        where = (found.environment.device, found.environment.gpu)
        by_gpu.setdefault(where, []).append((said, found))
    return {
        (where, said.candidate.normal): found
        for where, history in by_gpu.items()
        for said, found in ranking.latest(ranking.newest(history))
    }


def _where(call: Call) -> Where:
    return str(call.parameters["device"]), str(call.parameters.get("gpu", ""))


def _checkpoint(call: Call) -> str:
    """'contrastive/model 1a2b3c, triton on cuda:sm_90': folders that do not tell them apart go."""
    parts = PurePath(call.model.removeprefix("hf:")).parts[-2:]
    weights = str(call.parameters["weights"])[:6]
    device, gpu = _where(call)
    named = f"{device} ({gpu})" if gpu else device
    return f"{'/'.join(parts)} {weights}, {call.dialect} on {named}"


def examined(answers: Sequence[Answered]) -> list[PolicySummary]:
    """One per checkpoint and level, in the order of first answers; then of all levels together."""
    levels = sorted({each.level for each in answers})
    named = [*levels, ALL] if len(levels) > 1 else levels
    found = []
    for level in named:
        for policy in dict.fromkeys(each.policy for each in answers):
            part = [a for a in answers if a.policy == policy and level in (a.level, ALL)]
            if part:
                found.append(_summary(policy, level, part))
    return found


def _summary(policy: str, level: str, part: Sequence[Answered]) -> PolicySummary:
    by_task: dict[str, list[Answered]] = {}
    for each in part:
        by_task.setdefault(f"{each.level}/{each.task}", []).append(each)
    tasks = list(by_task.values())

    def share(holds: Callable[[Answered], bool]) -> Share:
        return share_of([fmean(map(holds, task)) for task in tasks])

    def best_share(holds: Callable[[Answered], bool]) -> Share:
        return share_of([float(any(map(holds, task))) for task in tasks])

    speedups = [[s for each in task if (s := each.speedup) is not None] for task in tasks]
    mean = interval([[gain(task)] for task in tasks], geometric_mean)
    assert mean is not None  # every task has a gain
    return PolicySummary(
        policy=policy, level=level, n_tasks=len(tasks), n_answers=len(part),
        with_code=share(lambda a: a.found is not None),
        right=share(lambda a: a.is_right),
        fast={f"{p:g}": share(lambda a, p=p: a.is_faster(p)) for p in FAST},
        geometric_mean=interval(speedups, geometric_mean),
        median=interval(speedups, median),
        n_refused=sum(a.found is not None and a.found.status in REFUSED for a in part),
        n_copies=sum(a.is_copy for a in part),
        n_of=max(map(len, tasks)),
        best_right=best_share(lambda a: a.is_right),
        best_fast={f"{p:g}": best_share(lambda a, p=p: a.is_faster(p)) for p in FAST},
        best_mean=mean,
    )  # fmt: skip


def gain(answers: Sequence[Answered]) -> float:
    """How many times as fast the best of a task's answers is; 1 where none beats the library."""
    return max((each.speedup or 1.0 for each in answers if each.is_faster(1)), default=1.0)


def share_of(shares: Sequence[float]) -> Share:
    """The mean of the tasks' shares with Wilson's interval, each task counted as one observation:
    answers to one task are alike, and shares of a task vary no more than a toss would.

    Source:
        Wilson (1927), as in Brown, Cai, DasGupta, Interval Estimation for a Binomial Proportion
        (2001), which holds near 0 as well, where a bootstrap would say that nothing can be right.
    """
    n, mean, z = len(shares), fmean(shares), NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
    middle = (mean + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(mean * (1 - mean) / n + z * z / (4 * n * n))
    return Share(mean, max(0.0, min(mean, middle - half)), min(1.0, max(mean, middle + half)))


def interval(
    tasks: Sequence[Sequence[float]], statistic: Callable[[Sequence[float]], float]
) -> Mean | None:
    """A statistic of the values of all tasks, with a bootstrap over tasks; None without values."""
    tasks = [task for task in tasks if task]
    if not tasks:
        return None
    whole = statistic([value for task in tasks for value in task])
    if len(tasks) == 1:
        return Mean(whole)
    draw = random.Random(0)
    drawn = sorted(
        statistic([value for task in draw.choices(tasks, k=len(tasks)) for value in task])
        for _ in range(N_DRAWS)
    )
    tail = round((1 - CONFIDENCE) / 2 * N_DRAWS)
    return Mean(whole, drawn[tail], drawn[-1 - tail])
