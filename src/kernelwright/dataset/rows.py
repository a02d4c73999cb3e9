"""Judged candidates as rows: which are kept, what was asked, what should be answered."""

from __future__ import annotations

import importlib.metadata
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import sqlalchemy as sa

from kernelwright.archive.ranking import exemplars
from kernelwright.core.candidate import Brief, Exemplar, Proposal
from kernelwright.core.device import Device
from kernelwright.core.evaluation import Evaluation
from kernelwright.core.outcome import Status
from kernelwright.core.task import Task
from kernelwright.dataset.answer import answer
from kernelwright.dataset.pairs import Pair
from kernelwright.loaders.trace import Trace
from kernelwright.proposers.swarm.device_facts import facts
from kernelwright.proposers.swarm.prompt import generator
from kernelwright.proposers.swarm.question import Question
from kernelwright.suites.composed.lessons import PROPOSER

History = list[tuple[Proposal, Evaluation]]
FAILED_SHARE = 4
"""At most every fourth of what is kept of a task was not right."""
N_SHOWN = 2
"""Kernels in a prompt that shows some: as contrastive training's, unless that is told otherwise."""
LICENCES = {"composed": "Apache-2.0", "folder": "NOASSERTION", "kernelbench": "NOASSERTION"}
"""Of a task's text, by its origin; a candidate of OURS is under ours."""
OURS = ("rules", PROPOSER)
"""Proposers whose texts are kernelwright's own."""
UNKNOWN = "NOASSERTION"
"""SPDX's word for a licence that nothing states. Source: SPDX specification 2.3, section 7.13."""


@dataclass(frozen=True)
class Judged:
    """A candidate that is kept, and the archive that it comes from."""

    archive: str
    proposal: Proposal
    evaluation: Evaluation


@dataclass(frozen=True)
class Lesson:
    """All that is kept of one task."""

    task: Task
    trace: Trace | None
    split: str
    judged: tuple[Judged, ...]


def chosen(histories: Sequence[tuple[str, History]], keep: int) -> list[Judged]:
    """At most ``keep`` candidates in each dialect on each device: the fastest that passed,
    slower ones down to the slowest, and some that did not. Each text once, under the judge of the
    highest version."""
    groups: dict[tuple[str, str], list[Judged]] = {}
    for archive, history in histories:
        for proposal, found in history:
            if found.status is not Status.INFRA_ERROR:
                key = (proposal.candidate.dialect, found.environment.device)
                groups.setdefault(key, []).append(Judged(archive, proposal, found))
    return [judged for key in sorted(groups) for judged in _best(groups[key], keep)]


def _best(group: list[Judged], keep: int) -> list[Judged]:
    version = max(judged.evaluation.judge_version for judged in group)
    last = {
        judged.proposal.candidate.normal: judged
        for judged in group
        if judged.evaluation.judge_version == version
    }
    passed = sorted((j for j in last.values() if j.evaluation.passed), key=_slowness)
    failed = [judged for judged in last.values() if not judged.evaluation.passed]
    n_failed = min(len(failed), keep // FAILED_SHARE if passed else 1)
    return _spread(passed, keep - n_failed) + failed[len(failed) - n_failed :]


def _spread(passed: list[Judged], n: int) -> list[Judged]:
    """The fastest half of ``n``, then some of the others as far apart as they lie, the slowest with
    them: what is only shown winners cannot learn what makes one."""
    n_fast = (n + 1) // 2
    fast, others, n_more = passed[:n_fast], passed[n_fast:], n - n_fast
    if len(others) <= n_more:
        return passed
    last = len(others) - 1
    return fast + [others[last - i * last // n_more] for i in range(n_more)][::-1]


def _slowness(judged: Judged) -> float:
    speedup = judged.evaluation.speedup
    return 0.0 if speedup is None else -speedup.low


def lessons(lesson: Lesson) -> Iterator[Pair]:
    """The rows of a task: each candidate, and the fastest of a dialect on a device once more,
    asked as contrastive training asks. A policy that was never shown kernels before it is trained
    so hands them back."""
    for judged in lesson.judged:
        yield _pair(lesson, judged)
    groups: dict[tuple[str, str], list[Judged]] = {}
    for judged in lesson.judged:
        place = judged.proposal.candidate.dialect, judged.evaluation.environment.device
        groups.setdefault(place, []).append(judged)
    for first, *others in groups.values():
        shown = _beaten(first, others)
        if shown:
            yield _pair(lesson, first, shown)


def _beaten(best: Judged, others: Sequence[Judged]) -> tuple[Exemplar, ...]:
    """Of a group's others some to be shown: those that are surely slower; where nothing was timed,
    any that are right."""
    right = [(j.proposal, j.evaluation) for j in others if j.evaluation.passed]
    speedup = best.evaluation.speedup
    if not best.evaluation.passed:
        return ()
    if speedup is None:
        return tuple(Exemplar(*pair, role="other") for pair in right[:N_SHOWN])
    slower = [p for p in right if (s := p[1].speedup) is not None and s.high < speedup.low]
    return tuple(exemplars(slower, N_SHOWN, seed=0))


def _pair(lesson: Lesson, judged: Judged, shown: tuple[Exemplar, ...] = ()) -> Pair:
    proposal, found = judged.proposal, judged.evaluation
    speedup = found.speedup
    told = _provenance(lesson.task, judged)
    told["shown"] = [exemplar.proposal.candidate.digest for exemplar in shown]
    return Pair(
        task_digest=lesson.task.digest,
        task_name=lesson.task.name,
        task_source=lesson.task.source,
        dialect=proposal.candidate.dialect,
        device=found.environment.device,
        prompt=_prompt(lesson.task, proposal, found, shown),
        answer=answer(proposal, found, lesson.trace),
        code=proposal.candidate.source,
        status=found.status.value,
        kinds=found.kinds,
        speedup=speedup and speedup.median,
        speedup_low=speedup and speedup.low,
        speedup_high=speedup and speedup.high,
        origin=proposal.proposer,
        split=lesson.split,
        provenance=json.dumps(told, sort_keys=True),
    )


def _prompt(
    task: Task, proposal: Proposal, found: Evaluation, shown: tuple[Exemplar, ...]
) -> tuple[tuple[str, str], ...]:
    """The generator's first question about a task, as the swarm and training ask it."""
    dialect, device = proposal.candidate.dialect, Device.parse(found.environment.device)
    threads = found.environment.facts.get("threads", 1)
    brief = Brief(task, device, (dialect,), shown, threads=threads)
    known = {fact: value for fact, value, _ in facts(device, threads)}
    is_here = known.get("processor") == found.environment.facts.get("processor")
    told = device.kind != "cpu" or is_here  # a CPU's facts are those of this machine
    parts = ["reference", "exemplars", *["device"][:told]]
    return generator(brief, Question("write", dialect), parts)


def _provenance(task: Task, judged: Judged) -> dict[str, object]:
    proposal, found = judged.proposal, judged.evaluation
    is_ours = proposal.proposer in OURS
    return {
        "archive": archive_name(judged.archive),
        "candidate": proposal.candidate.digest,
        "task_origin": task.origin,
        "lineage": list(proposal.lineage),
        "schedule": dict(proposal.schedule),
        "note": proposal.note,
        "call": proposal.call,
        "parent": proposal.parent,
        "strongest": found.timing.strongest if found.timing else None,
        "reasons": [asdict(reason) for reason in found.reasons],
        "judge_version": found.judge_version,
        "environment": dict(found.environment.facts),
        "kernelwright": importlib.metadata.version("kernelwright"),
        "licence": LICENCES.get(task.origin, UNKNOWN) if is_ours else UNKNOWN,
    }


def archive_name(url: str) -> str:
    """An archive without its password, its host and the folders of somebody's machine."""
    return Path(sa.make_url(url).database or "" if "://" in url else url).name


def is_winner(pair: Pair) -> bool:
    """Whether it beats the strongest library setting with its whole interval."""
    return pair.speedup_low is not None and pair.speedup_low > 1
