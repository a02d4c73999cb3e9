"""Makes pairs from judged candidates: selects candidates and writes prompts and answers."""

from __future__ import annotations

import importlib.metadata
import json
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import sqlalchemy as sa

from kernelwright.archive.ranking import exemplars
from kernelwright.core.candidate import Brief, Exemplar, Proposal
from kernelwright.core.codec import plain
from kernelwright.core.device import Device
from kernelwright.core.evaluation import Evaluation
from kernelwright.core.outcome import Status
from kernelwright.core.task import Task
from kernelwright.core.trial import NO_JUDGE
from kernelwright.dataset.answer import answer, choice
from kernelwright.dataset.grid import Measured
from kernelwright.dataset.pairs import MEASURED, Pair
from kernelwright.loaders.trace import Trace
from kernelwright.proposers.swarm.device_facts import facts
from kernelwright.proposers.swarm.prompt import generator
from kernelwright.proposers.swarm.question import Question
from kernelwright.suites.composed.lessons import PROPOSER

History = list[tuple[Proposal, Evaluation]]
FAILED_SHARE = 4
"""At most one in this many of a task's kept candidates is a failed one."""
CONTRASTIVE = 4
"""One in this many lessons from a grid has a further, contrastive one."""
LEAST_GAIN = 1.05
"""How many times as fast as what its prompt shows a contrastive answer is at least: less is
not worth learning, and about what times of two runs differ by at most."""
N_SHOWN = 2
"""Kernels in a prompt that shows exemplars, the default of contrastive training."""
LICENCES = {"composed": "Apache-2.0", "folder": "NOASSERTION", "kernelbench": "NOASSERTION"}
"""Licence of a task's text, by the task's origin."""
OURS = ("rules", PROPOSER)
"""Proposers whose texts belong to kernelwright and have its licence."""
UNKNOWN = "NOASSERTION"
"""SPDX's word for an unstated licence. Source: SPDX specification 2.3, section 7.13."""


@dataclass(frozen=True)
class KeptCandidate:
    """A judged candidate that is kept, with the archive that it comes from."""

    archive: str
    proposal: Proposal
    evaluation: Evaluation


@dataclass(frozen=True)
class KeptTask:
    """The candidates that are kept of one task."""

    task: Task
    trace: Trace | None
    split: str
    judged: tuple[KeptCandidate, ...]
    measured: tuple[Measured, ...] = ()
    """Timed schedules from grids, each with its text."""


@dataclass(frozen=True)
class Drawing:
    """How answers are drawn from a grid's schedules."""

    keep: int
    """Number of answers for each program on each device."""
    temperature: float
    """An answer is drawn with a probability in proportion to its speed to the power of one over
    this: near 0 only the fastest, infinite for all alike."""
    contrast: float
    """Smallest ratio of the speeds of two kernels that a prompt shows."""


def chosen(histories: Sequence[tuple[str, History]], keep: int) -> list[KeptCandidate]:
    """Choose at most ``keep`` candidates in each dialect on each device.

    They are the fastest that passed, slower ones down to the slowest, and some that failed. Each
    text is kept once, and only verdicts of the highest judge version count.
    """
    groups: dict[tuple[str, str], list[KeptCandidate]] = {}
    for archive, history in histories:
        for proposal, found in history:
            if found.status is not Status.INFRA_ERROR:
                key = (proposal.candidate.dialect, found.environment.device)
                groups.setdefault(key, []).append(KeptCandidate(archive, proposal, found))
    return [judged for key in sorted(groups) for judged in _best(groups[key], keep)]


def _best(group: list[KeptCandidate], keep: int) -> list[KeptCandidate]:
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


def _spread(passed: list[KeptCandidate], n: int) -> list[KeptCandidate]:
    """Choose ``n`` candidates: half of them the fastest, the others spread evenly to the slowest.

    A model that only sees winners cannot learn what makes a winner.
    """
    n_fast = (n + 1) // 2
    fast, others, n_more = passed[:n_fast], passed[n_fast:], n - n_fast
    if len(others) <= n_more:
        return passed
    last = len(others) - 1
    return fast + [others[last - i * last // n_more] for i in range(n_more)][::-1]


def _slowness(judged: KeptCandidate) -> float:
    speedup = judged.evaluation.speedup
    return 0.0 if speedup is None else -speedup.low


def lessons(kept: KeptTask) -> Iterator[Pair]:
    """Yield a task's pairs: one per candidate, and one contrastive pair per dialect and device.

    The contrastive pair shows slower kernels in its prompt and answers with the fastest. Without
    such pairs a policy that first sees kernels in contrastive training would return them unchanged.
    """
    for judged in kept.judged:
        yield _pair(kept, judged)
    groups: dict[tuple[str, str], list[KeptCandidate]] = {}
    for judged in kept.judged:
        place = judged.proposal.candidate.dialect, judged.evaluation.environment.device
        groups.setdefault(place, []).append(judged)
    for first, *others in groups.values():
        shown = _beaten(first, others)
        if shown:
            yield _pair(kept, first, shown)


def measured_lessons(kept: KeptTask, drawing: Drawing) -> Iterator[Pair]:
    """Yield the pairs of a task's measured schedules.

    Of each program on each device ``drawing.keep`` schedules are answers, drawn by their speed. A
    quarter as many pairs more, at least one, are contrastive: the prompt shows measured kernels
    of clearly different speeds, and the answer is one that is clearly faster than all of them.
    """
    groups: dict[tuple[str, ...], list[Measured]] = {}
    for row in kept.measured:
        if row.time_ns is not None and row.code:
            groups.setdefault((row.program, row.device, row.environment), []).append(row)
    for key, rows in sorted(groups.items()):
        draw = random.Random(f"{kept.task.digest} {key[0]}")
        order = sorted(rows, key=lambda row: _drawn(row, drawing.temperature, draw))
        for row in order[: drawing.keep]:
            yield _pair(kept, _as_kept(row))
        taught = ((row, _slower(row, rows, drawing.contrast, draw)) for row in order)
        contrastive = ((row, shown) for row, shown in taught if shown)
        for row, shown in islice(contrastive, max(1, drawing.keep // CONTRASTIVE)):
            yield _pair(kept, _as_kept(row), shown)


def _drawn(row: Measured, temperature: float, draw: random.Random) -> float:
    """Return a key whose order draws rows without replacement by the weights of ``Drawing``.

    Source:
        The Gumbel-top-k trick: Kool et al., arXiv 1903.06059.
    """
    assert row.time_ns is not None
    noise = -math.log(-math.log(draw.uniform(1e-12, 1 - 1e-12)))
    return math.log(row.time_ns) / temperature - noise


def _slower(
    row: Measured, rows: Sequence[Measured], contrast: float, draw: random.Random
) -> tuple[Exemplar, ...]:
    """Choose kernels to show before the answer ``row``: ones that are clearly slower than it, of
    speeds that differ by ``contrast``."""
    fast = _as_kept(row).evaluation.speedup
    assert fast is not None
    others = [_as_kept(other) for other in rows if other.candidate != row.candidate]
    slower = [
        (other.proposal, other.evaluation)
        for other in others
        if (speed := other.evaluation.speedup) is not None
        and speed.high < fast.low
        and LEAST_GAIN * speed.median <= fast.median
    ]
    return tuple(exemplars(slower, N_SHOWN, draw.randrange(1 << 30), contrast))


def _as_kept(row: Measured) -> KeptCandidate:
    return KeptCandidate("grid", row.proposal, row.trial.as_evaluation(row.task, row.place))


def _beaten(best: KeptCandidate, others: Sequence[KeptCandidate]) -> tuple[Exemplar, ...]:
    """Choose kernels of a group to show beside its best: ones that are certainly slower.

    If nothing was timed, any correct kernels are chosen.
    """
    right = [(j.proposal, j.evaluation) for j in others if j.evaluation.passed]
    speedup = best.evaluation.speedup
    if not best.evaluation.passed:
        return ()
    if speedup is None:
        return tuple(Exemplar(*pair, role="other") for pair in right[:N_SHOWN])
    slower = [p for p in right if (s := p[1].speedup) is not None and s.high < speedup.low]
    return tuple(exemplars(slower, N_SHOWN, seed=0))


def _pair(kept: KeptTask, judged: KeptCandidate, shown: tuple[Exemplar, ...] = ()) -> Pair:
    proposal, found = judged.proposal, judged.evaluation
    speedup, is_trial = found.speedup, found.judge_version == NO_JUDGE
    provenance = _provenance(kept.task, judged)
    provenance["shown"] = [exemplar.proposal.candidate.digest for exemplar in shown]
    return Pair(
        task_digest=kept.task.digest,
        task_name=kept.task.name,
        task_source=kept.task.source,
        dialect=proposal.candidate.dialect,
        device=found.environment.device,
        prompt=_prompt(kept.task, proposal, found, shown),
        answer=answer(proposal, found, kept.trace, choice(proposal, found, shown)),
        code=proposal.candidate.source,
        status=MEASURED if found.passed and is_trial else found.status.value,
        kinds=found.kinds,
        speedup=speedup and speedup.median,
        speedup_low=speedup and speedup.low,
        speedup_high=speedup and speedup.high,
        origin=proposal.proposer,
        split=kept.split,
        provenance=json.dumps(provenance, sort_keys=True),
    )


def _prompt(
    task: Task, proposal: Proposal, found: Evaluation, shown: tuple[Exemplar, ...]
) -> tuple[tuple[str, str], ...]:
    """Return the generator's first prompt about a task, as the swarm and training make it."""
    dialect, device = proposal.candidate.dialect, Device.parse(found.environment.device)
    threads = found.environment.facts.get("threads", 1)
    brief = Brief(task, device, (dialect,), shown, threads=threads)
    known = {fact: value for fact, value, _ in facts(device, threads)}
    is_here = known.get("processor") == found.environment.facts.get("processor")
    has_facts = device.kind != "cpu" or is_here  # facts about a CPU describe this machine's
    parts = ["reference", "exemplars", *(["device"] if has_facts else [])]
    return generator(brief, Question("write", dialect), parts)


def _provenance(task: Task, judged: KeptCandidate) -> dict[str, object]:
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
        "reasons": [plain(reason) for reason in found.reasons],
        "judge_version": found.judge_version,
        "environment": dict(found.environment.facts),
        "kernelwright": importlib.metadata.version("kernelwright"),
        "licence": LICENCES.get(task.origin, UNKNOWN) if is_ours else UNKNOWN,
    }


def archive_name(url: str) -> str:
    """Return an archive's name without password, host and local folders."""
    return Path(sa.make_url(url).database or "" if "://" in url else url).name


def is_winner(pair: Pair) -> bool:
    """Whether the whole interval of the speedup lies above the strongest library setting."""
    return pair.speedup_low is not None and pair.speedup_low > 1
