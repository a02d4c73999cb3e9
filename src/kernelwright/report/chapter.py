"""One task on one device, as the page shows it."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from kernelwright.archive import Archive, ranking
from kernelwright.archive.conclusion import Conclusion, conclusion
from kernelwright.archive.ranking import Pair
from kernelwright.core.call import Call
from kernelwright.core.candidate import Proposal
from kernelwright.core.conditions import Conditions
from kernelwright.core.evaluation import CANDIDATE, Environment, Evaluation
from kernelwright.core.task import Task
from kernelwright.proposers.emitted import MARK
from kernelwright.report.facts import ordered
from kernelwright.report.spending import Spending, spending


@dataclass(frozen=True)
class Chapter:
    """The verdicts of one judge version on one task and device. Verdicts never mix, nor do GPUs of
    one architecture and different names."""

    task: Task
    device: str
    history: list[Pair]
    lineage: list[Proposal]
    """The winner's ancestors, the winner last; empty where nothing won."""
    n_older: int
    """Verdicts of older judges, which are not shown."""
    calls: Sequence[Call] = ()
    """What models were asked for the task, on whatever device."""
    gpu: str = ""
    """The GPU's name, where there is one."""

    @property
    def where(self) -> str:
        return f"{self.device} ({self.gpu})" if self.gpu else self.device

    @property
    def anchor(self) -> str:
        where = re.sub(r"[^\w.]+", "-", self.where).strip("-")
        return f"t{self.task.digest.removeprefix('b2:')[:12]}-{where}"

    @cached_property
    def conclusion(self) -> Conclusion:
        """What the verdicts come to."""
        return conclusion(self.history)

    @property
    def best(self) -> Pair | None:
        """The winner; None if nothing beats the library."""
        return self.conclusion.best

    @cached_property
    def pairs(self) -> list[Pair]:
        """The last verdict on each candidate, the best first."""
        return ordered(self.history)

    @property
    def counts(self) -> dict[str, int]:
        """Candidates by status, the most frequent first."""
        return dict(Counter(found.status.value for _, found in self.pairs).most_common())

    @property
    def evaluation(self) -> Evaluation:
        """The verdict that the outcome is about; else the one that best shows the library's
        times."""
        if self.conclusion.pair is not None:
            return self.conclusion.pair[1]
        timed = [found for _, found in self.pairs if found.timing is not None]
        return (timed or [self.history[-1][1]])[0]

    @property
    def strongest(self) -> str:
        """The name of the strongest library setting; empty if nothing was timed."""
        return self.evaluation.timing.strongest if self.evaluation.timing else ""

    @property
    def sentence(self) -> str:
        """The outcome in full."""
        return self.conclusion.sentence(self.strongest)

    @property
    def gain(self) -> float:
        """The best's speedup; 1 where the library stays best, because that is handed back."""
        if self.best is None or self.best[1].speedup is None:
            return 1.0
        return self.best[1].speedup.median

    @property
    def baselines_ns(self) -> list[tuple[str, float]]:
        """The library's settings by name, with median times, the strongest first."""
        timing = self.evaluation.timing
        if timing is None:
            return []
        medians = [(n, timing.median_ns(n)) for n in timing.samples_ns if n != CANDIDATE]
        return sorted(medians, key=lambda entry: (entry[0] != timing.strongest, entry[1]))

    @property
    def environment(self) -> list[tuple[str, str]]:
        told = [("device", self.device), *flat(self.evaluation.environment.facts)]
        return told + while_timed(self.evaluation.conditions)

    @property
    def spending(self) -> list[Spending]:
        """What the models cost, a row per model; empty where none was asked."""
        return spending(self.calls, self.history)

    @property
    def seconds_per_candidate(self) -> list[tuple[str, float]]:
        """The mean cost of one verdict, by part."""
        costs = [found.cost for _, found in self.history]
        parts = ("build_s", "check_s", "time_s")
        return [
            (p.removesuffix("_s"), sum(getattr(c, p) for c in costs) / len(costs)) for p in parts
        ]


def chapters(
    archive: Archive, task: str | None,
    is_wanted: Callable[[Environment], bool] = lambda environment: True,
) -> list[Chapter]:  # fmt: skip
    """Every task (or the one with this digest) on every device that it was judged on, with the
    verdicts of wanted environments."""
    tasks = archive.tasks() if task is None else [archive.task(task)]
    found = []
    for each in tasks:
        whole = [p for p in archive.history(each.digest) if is_wanted(p[1].environment)]
        calls = archive.calls(each.digest)
        places = {(found.environment.device, found.environment.gpu) for _, found in whole}
        for device, gpu in sorted(places):
            here = [
                p for p in whole if (p[1].environment.device, p[1].environment.gpu) == (device, gpu)
            ]
            history = ranking.newest(here)
            best = ranking.best(history)
            lineage = archive.lineage(best[1].candidate) if best else []
            n_older = len(here) - len(history)
            found.append(Chapter(each, device, history, lineage, n_older, calls, gpu))
    return found


def unjudged(archive: Archive, found: Sequence[Chapter]) -> list[tuple[str, str]]:
    """The names of tasks whose search ended without a verdict, with the reason."""
    judged = {chapter.task.digest for chapter in found}
    ended = {run.task: run.settings.get("ended", {}) for run in archive.runs() if run.finished_at}
    return [
        (task.name, ended[task.digest].get("why", "nothing was proposed"))
        for task in archive.tasks()
        if task.digest in ended and task.digest not in judged
    ]


def flat(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Names and values as text, in order of name."""
    return [
        (name.replace("_", " "), value if isinstance(value, str) else json.dumps(value))
        for name, value in sorted(facts.items())
        if value not in ("", None)
    ]


def while_timed(conditions: Conditions | None) -> list[tuple[str, str]]:
    """What the machine did beside a measurement, as names and text; nothing where nobody looked."""
    if conditions is None:
        return []
    shares = {
        "other programs' share of the processor": conditions.neighbour_share,
        "other programs' share of the GPU": conditions.gpu_neighbour_share,
    }
    told = [(name, f"{share:.0%}") for name, share in shares.items() if share is not None]
    when = (("before timing", conditions.before), ("after timing", conditions.after))
    return told + [(f"{n}, {word}", text) for word, facts in when for n, text in flat(facts)]


def schedule_text(schedule: Mapping[str, Any]) -> str:
    """The knobs of a candidate: 'tile 64, unroll 4', and by part where it has several."""
    parts = [
        f"{name}: {schedule_text(value)}" if isinstance(value, Mapping) else f"{name} {value}"
        for name, value in sorted(schedule.items())
        if name != MARK
    ]
    has_parts = any(isinstance(value, Mapping) for value in schedule.values())
    return ("; " if has_parts else ", ").join(parts)
