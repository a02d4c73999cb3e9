"""One task on one device, as the page shows it."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from kernelwright.archive import Archive, Run, ranking
from kernelwright.archive.conclusion import Conclusion, conclusion_over_shapes
from kernelwright.archive.ranking import Pair
from kernelwright.core.call import Call
from kernelwright.core.candidate import Proposal
from kernelwright.core.conditions import Conditions
from kernelwright.core.evaluation import CANDIDATE, Environment, Evaluation
from kernelwright.core.task import Task
from kernelwright.core.trial import Trial
from kernelwright.core.use import Use
from kernelwright.loaders.shapes import at_shapes_of
from kernelwright.proposers.emitted import MARK
from kernelwright.report.facts import bytes_text, ordered, uses_text
from kernelwright.report.knobs import N_SHOWN, Knob, knobs
from kernelwright.report.roofline import Roofline, roofline
from kernelwright.report.spending import Spending, spending

_CHOSEN = re.compile(r"\[(\w+)\]")
"""The one that is chosen in 'always [madvise] never'."""


@dataclass(frozen=True)
class AtShape:
    """The verdicts on one of the further shapes that a task lists, on the chapter's device."""

    name: str
    history: list[Pair]
    is_holdout: bool


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
    trials: Sequence[Trial] = ()
    """The tuner's measurements in the environment of the newest verdict."""
    ended: Mapping[str, Any] = field(default_factory=dict)
    """Facts that the last search on the device ended with."""
    shapes: Sequence[AtShape] = ()
    """The further shapes that the task lists, as far as they were searched."""

    @property
    def where(self) -> str:
        return f"{self.device} ({self.gpu})" if self.gpu else self.device

    @property
    def anchor(self) -> str:
        where = re.sub(r"[^\w.]+", "-", self.where).strip("-")
        return f"t{self.task.digest.removeprefix('b2:')[:12]}-{where}"

    @cached_property
    def conclusion(self) -> Conclusion:
        """The outcome of the verdicts."""
        listed = [shape.history for shape in self.shapes if not shape.is_holdout]
        return conclusion_over_shapes([self.history, *listed])

    @property
    def best(self) -> Pair | None:
        """The winner, of a task that lists shapes over all of them; None if nothing beats the
        library."""
        return self.conclusion.best

    @property
    def by_shape(self) -> list[tuple[str, bool, Evaluation]]:
        """The winner's verdict on each shape, with the shape's name and whether it is held out;
        empty where there is no winner, or only one shape."""
        if self.best is None or not self.shapes:
            return []
        rows = [("the main shape", False, self.best[1])]
        for shape in self.shapes:
            verdicts = {p.candidate.digest: e for p, e in ranking.latest(shape.history)}
            if seen := verdicts.get(self.best[0].candidate.digest):
                rows.append((shape.name, shape.is_holdout, seen))
        return rows

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
    def source_path(self) -> str:
        """The file that the last search wrote, if it is of the winner or there is none."""
        path = str(self.ended.get("source", ""))
        short = self.best[0].candidate.digest.removeprefix("b2:")[:10] if self.best else ""
        return path if short in path else ""

    @property
    def uses(self) -> str:
        """The winner's results in use, in one line; empty if the last search did not try it."""
        told = self.ended.get("uses", ()) if self.source_path and self.best else ()
        return uses_text([Use(**each) for each in told])

    @property
    def roofline(self) -> Roofline | None:
        """Where the winner and the library's settings stand; None where nobody looked."""
        about = self.conclusion.pair
        times_ns = list(self.baselines_ns)
        if about is not None and about[1].timing is not None:
            name = "the kernel" if self.best else "the undecided kernel"
            times_ns.append((name, about[1].timing.median_ns(CANDIDATE)))
        return roofline(self.ended, times_ns)

    @property
    def knobs(self) -> list[Knob]:
        """The knobs that mattered most among the trials."""
        return knobs(self.trials)[:N_SHOWN]

    @property
    def gain(self) -> float:
        """The best's speedup, over all shapes of the task; 1 where the library stays best, because
        that is handed back."""
        if self.conclusion.mean is not None:
            return self.conclusion.mean
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
    archive: Archive,
    tasks: Sequence[Task],
    is_wanted: Callable[[Environment], bool] = lambda environment: True,
) -> list[Chapter]:
    """Each task on every device that it was judged on, with the verdicts of wanted environments."""
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
            n_older = len(here) - len(history)
            environment = history[-1][1].environment.digest
            chapter = Chapter(
                each,
                device,
                history,
                [],
                n_older,
                calls,
                gpu,
                trials=archive.newest_trials(each.digest, environment=environment),
                ended=_ended(archive.runs(each.digest), device, gpu),
                shapes=_shapes(archive, each, (device, gpu)),
            )
            best = chapter.best
            lineage = archive.lineage(best[1].candidate) if best else []
            found.append(replace(chapter, lineage=lineage))
    return found


def _ended(runs: Sequence[Run], device: str, gpu: str) -> Mapping[str, Any]:
    """Return the facts that the last search on a device ended with."""
    found: Mapping[str, Any] = {}
    for run in runs:
        ended = run.settings.get("ended", {})
        its_gpu = ended.get("environment", {}).get("gpu", "")
        if (ended.get("device"), its_gpu) == (device, gpu):
            found = ended
    return found


def _shapes(archive: Archive, task: Task, place: tuple[str, str]) -> list[AtShape]:
    found = []
    for at, is_holdout in at_shapes_of(task, archive.find_task):
        whole = archive.history(at.digest)
        here = [p for p in whole if (p[1].environment.device, p[1].environment.gpu) == place]
        name = at.name.removeprefix(f"{task.name}-")
        found.append(AtShape(name, ranking.newest(here), is_holdout))
    return found


def unjudged(
    archive: Archive, tasks: Sequence[Task], found: Sequence[Chapter]
) -> list[tuple[str, str]]:
    """The names of those of the tasks whose search ended without a verdict, with the reason."""
    judged = {chapter.task.digest for chapter in found}
    told = []
    for task in tasks:
        if task.digest not in judged:
            ended = [run for run in archive.runs(task.digest) if run.finished_at]
            facts = [run.settings.get("ended", {}) for run in ended[-1:]]
            told += [(task.name, each.get("why", "nothing was proposed")) for each in facts]
    return told


def flat(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Names and values as text, in order of name; what has no value is left out."""
    return [
        (
            name.removesuffix("_bytes").replace("_", " ").replace("mhz", "MHz"),
            _value_text(name, value),
        )
        for name, value in sorted(facts.items())
        if value not in ("", None)
    ]


def _value_text(name: str, value: Any) -> str:
    """A fact for a person: '32 MiB', 'yes', '2596, 2596', and 'madvise' for a choice of Linux's."""
    if name.endswith("_bytes") and isinstance(value, int):
        return bytes_text(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(_value_text("", one) for one in value)
    if isinstance(value, str):
        chosen = _CHOSEN.search(value)
        return chosen[1] if chosen else value
    return json.dumps(value)


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
